/** The results of lines in the words of each API: one line of JSON for each. */

import { anthropicError } from '../../../protocol/anthropic/envelope.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { BatchKind } from '../../../protocol/ids.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { BatchUsage } from '../batch.ts';

/** An answered line. */
interface LineResult {
  readonly requestId: string;
  readonly customId: string;
  readonly status: number;
  /** The JSON of the answer; undefined if it is none. */
  readonly body: unknown;
}

/** Why a line was not answered. */
type Unanswered = 'cancelled' | 'expired';

/** The result of a line that was answered, whether or not with an error. */
export function resultLine(kind: BatchKind, { requestId, customId, status, body }: LineResult): string {
  if (kind === 'batch') {
    const response = { status_code: status, request_id: requestId, body };
    return JSON.stringify({ id: requestId, custom_id: customId, response, error: null });
  }
  if (status === 200) return messageLine(customId, { type: 'succeeded', message: body });
  const error =
    isRecord(body) && isRecord(body.error)
      ? { type: 'error', error: body.error, request_id: requestId }
      : anthropicError(new ApiError('upstream_error', `The answer has the status ${status}.`), requestId);
  return messageLine(customId, { type: 'errored', error });
}

/** The result of a line that was not answered. */
export function unansweredLine(
  kind: BatchKind,
  why: Unanswered,
  { requestId, customId }: Omit<LineResult, 'status' | 'body'>,
): string {
  if (kind === 'msgbatch') return messageLine(customId, { type: why === 'expired' ? 'expired' : 'canceled' });
  const error =
    why === 'expired'
      ? {
          code: 'batch_expired',
          message: 'This request could not be executed before the completion window expired.',
        }
      : { code: 'batch_cancelled', message: 'The batch was cancelled before this request was executed.' };
  return JSON.stringify({ id: requestId, custom_id: customId, response: null, error });
}

function messageLine(customId: string, result: JsonObject): string {
  return JSON.stringify({ custom_id: customId, result });
}

/** The usage that an answer of any of the APIs reports. */
export function usageIn(body: unknown): BatchUsage {
  const usage = isRecord(body) && isRecord(body.usage) ? body.usage : {};
  const count = (...values: readonly unknown[]) => Number(values.find((value) => Number.isSafeInteger(value)) ?? 0);
  const detail = (name: string, field: string) => {
    const details = usage[name];
    return isRecord(details) ? details[field] : undefined;
  };
  return {
    input: count(usage.input_tokens, usage.prompt_tokens),
    cached: count(
      detail('input_tokens_details', 'cached_tokens'),
      detail('prompt_tokens_details', 'cached_tokens'),
      usage.cache_read_input_tokens,
    ),
    output: count(usage.output_tokens, usage.completion_tokens),
    reasoning: count(
      detail('output_tokens_details', 'reasoning_tokens'),
      detail('completion_tokens_details', 'reasoning_tokens'),
    ),
  };
}
