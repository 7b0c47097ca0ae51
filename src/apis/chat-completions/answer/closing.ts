/** How a chat completion ends: its finish reason, and the whole of it for a client that wants one object. */

import { firstChoice } from '../../../protocol/chat-completions/chunk.ts';
import { isRecord, type JsonObject, recordsIn } from '../../../protocol/record.ts';
import type { Completion } from './completion.ts';
import type { ChatCall, ModelAnswer } from './model-answer.ts';
import { callMessage } from './next-body.ts';

/** What the client receives of the newest answer. */
export interface ClientShare {
  /** The calls that are the client's. */
  readonly calls: readonly ChatCall[];
  /** Whether calls beside those ran here. */
  readonly hasResults: boolean;
  /** Whether a limit of the server ended the turn. */
  readonly isStopped: boolean;
}

/** The finish reason of a completion whose chunks are not the model server's own. */
export function closingReason(
  { finishReason = 'stop' }: ModelAnswer,
  { calls, hasResults, isStopped }: ClientShare,
  isLegacy: boolean,
): string {
  const isOfCalls = finishReason === 'tool_calls' || finishReason === 'function_call';
  // The client's calls are whole, whatever a limit has kept from running beside them.
  if (calls.length > 0 && isLegacy && (hasResults || isStopped || isOfCalls)) return 'function_call';
  if (calls.length > 0 && (hasResults || isStopped)) return 'tool_calls';
  // Chat Completions' only finish reason for a truncated answer.
  if (isStopped) return 'length';
  // Calls that the client does not receive are none for it.
  return isOfCalls && calls.length === 0 ? 'stop' : finishReason;
}

/** The completion as one object, with all other fields of the model server's last answer. */
export function wholeCompletion(
  { head, usage, text, fields, logprobs, images, isLegacy }: Completion,
  answer: ModelAnswer,
  share: ClientShare,
): JsonObject {
  const base = answer.whole ?? { object: 'chat.completion' };
  const first = firstChoice(base) ?? {};
  const { tool_calls: _, function_call: __, ...own } = isRecord(first.message) ? first.message : { role: 'assistant' };
  const [call] = share.calls;
  const message = {
    ...own,
    ...fields,
    content: text === '' ? null : text,
    ...(images.length > 0 ? { images: [...recordsIn(fields.images), ...images] } : {}),
    ...(call && isLegacy ? { function_call: { name: call.name, arguments: call.arguments } } : {}),
    ...(call && !isLegacy ? { tool_calls: share.calls.map(callMessage) } : {}),
  };
  const logprobsField = Object.keys(logprobs).length > 0 ? { logprobs } : {};
  const choice = {
    ...first,
    index: 0,
    message,
    ...logprobsField,
    finish_reason: closingReason(answer, share, isLegacy),
  };
  return { ...base, ...head, choices: [choice], ...(usage ? { usage } : {}) };
}
