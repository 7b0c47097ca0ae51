/** Translates each model server's finish reason into one of this package's. */

import { ApiError, type ErrorCode } from '../errors.ts';
import type { FinishReason } from '../events.ts';
import { toPrintable } from '../printable.ts';

/** Lower-case reasons before a colon: some servers append details, such as `content_filter: PROHIBITED_CONTENT`. */
const ENDS: ReadonlyMap<string, FinishReason> = new Map(
  (
    [
      ['stop', 'stop tool_calls tool_call tool_use function_call end_turn end_of_turn stop_sequence stop_token'],
      ['stop', 'eos eos_token eot complete completed finished done'],
      ['length', 'length max_tokens max_length max_output_tokens model_length token_limit context_length'],
      ['length', 'context_length_exceeded model_context_window_exceeded'],
      ['content_filter', 'content_filter content_filtered safety image_safety sensitive recitation blocklist'],
      ['content_filter', 'prohibited_content spii refusal guardrail_intervened error_toxic moderation'],
    ] as const
  ).flatMap(([reason, words]) => words.split(' ').map((word) => [word, reason] as const)),
);

/** The error message for the client if the model server itself failed. */
const TROUBLE: ReadonlyMap<string, readonly [ErrorCode, message: string]> = new Map([
  ['error', ['upstream_error', 'The model server failed while answering.']],
  ['server_error', ['upstream_error', 'The model server failed while answering.']],
  ['malformed_function_call', ['upstream_error', 'The model called a tool in a way that its server could not read.']],
  ['function_call_filter', ['upstream_error', 'The model called a tool in a way that its server could not read.']],
  ['insufficient_system_resource', ['upstream_unavailable', 'The model server ran out of resources while answering.']],
  ['timeout', ['upstream_timeout', 'The model server ran out of time while answering.']],
  ['abort', ['upstream_truncated', 'The model server broke off its answer.']],
  ['aborted', ['upstream_truncated', 'The model server broke off its answer.']],
  ['cancelled', ['upstream_truncated', 'The model server broke off its answer.']],
  ['network_error', ['upstream_truncated', 'The model server broke off its answer.']],
]);

/** How an answer ended: `failure` if the server failed, `unknown` if the reason is not in the table. */
interface Finish {
  readonly reason: FinishReason;
  readonly failure?: ApiError;
  /** The reason, safe to show. */
  readonly unknown?: string;
}

/** Reads a `finish_reason`; without one the answer ended normally. */
export function readFinish(reported: unknown): Finish {
  if (typeof reported !== 'string') return { reason: 'stop' };
  // Longer than any known reason, so that no long text is rewritten.
  const word = reported.slice(0, MAX_WORD_LENGTH).split(':', 1)[0]?.trim().toLowerCase() ?? '';
  const trouble = TROUBLE.get(word);
  if (trouble) return { reason: 'stop', failure: new ApiError(...trouble) };
  const reason = ENDS.get(word);
  return reason ? { reason } : { reason: 'stop', unknown: toPrintable(reported) };
}

const MAX_WORD_LENGTH = 128;
