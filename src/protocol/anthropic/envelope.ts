/** Anthropic's error envelope. */

import type { ApiError } from '../errors.ts';
import type { JsonObject } from '../record.ts';
import { CONTEXT_OVERFLOW } from '../upstream-errors/context-overflow.ts';

const TYPE_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);

/** Types of a model server's own that are more precise than its status. */
const PRECISE_TYPES: ReadonlySet<string> = new Set([
  'billing_error',
  'overloaded_error',
  'rate_limit_error',
  'timeout_error',
]);

/** The body of an error answer, and the data of an `error` event. */
export function anthropicError({ type, status, code, message, param }: ApiError, requestId: string): JsonObject {
  // The status is undefined for an error that has been sent without.
  const statusType = TYPE_BY_STATUS.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  // Claude Code makes a conversation shorter on Anthropic's own words only; the model server's numbers follow them.
  const isOverflow = code === CONTEXT_OVERFLOW && !OWN_WORDS.some((words) => message.toLowerCase().includes(words));
  const error = {
    type: PRECISE_TYPES.has(type) ? type : statusType,
    message: isOverflow ? `${OWN_WORDS[0]}: ${message}` : message,
  };
  // By this detail Anthropic's SDK goes on without a thread, and sends the whole conversation with each request.
  const isThread = code === 'unsupported_parameter' && param === 'thread';
  const details = { error_code: 'thread_unsupported_request', unsupported: [param] };
  return { type: 'error', error: isThread ? { ...error, details } : error, request_id: requestId };
}

const OWN_WORDS = ['prompt is too long', 'exceed context limit'] as const;
