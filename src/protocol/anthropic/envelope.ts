/** Anthropic's error envelope. */

import type { ApiError } from '../errors.ts';
import type { JsonObject } from '../record.ts';
import { CONTEXT_OVERFLOW } from '../upstream-errors/context-overflow.ts';

const OF_STATUS: ReadonlyMap<number, string> = new Map([
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
const KEPT: ReadonlySet<string> = new Set(['billing_error', 'overloaded_error', 'rate_limit_error', 'timeout_error']);

/** What Anthropic's types make of an error; `status` is undefined for one that has been sent without. */
function anthropicErrorType({ type, status }: Pick<ApiError, 'type' | 'status'>): string {
  if (KEPT.has(type)) return type;
  return OF_STATUS.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/** The body of an error answer, and the data of an `error` event. */
export function anthropicError(error: ApiError, requestId: string): JsonObject {
  return {
    type: 'error',
    error: { type: anthropicErrorType(error), message: messageOf(error), ...detailsOf(error) },
    request_id: requestId,
  };
}

/** Claude Code makes a conversation shorter on Anthropic's own words only; the model server's numbers follow them. */
function messageOf({ code, message }: ApiError): string {
  const isOwn = OWN_WORDS.some((words) => message.toLowerCase().includes(words));
  return code === CONTEXT_OVERFLOW && !isOwn ? `${OWN_WORDS[0]}: ${message}` : message;
}

const OWN_WORDS = ['prompt is too long', 'exceed context limit'] as const;

/** By this detail Anthropic's SDK goes on without a thread, and sends the whole conversation with each request. */
function detailsOf({ code, param }: ApiError): JsonObject {
  if (code !== 'unsupported_parameter' || param !== 'thread') return {};
  return { details: { error_code: 'thread_unsupported_request', unsupported: [param] } };
}
