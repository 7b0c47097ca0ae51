/** Anthropic's error envelope. */

import type { ApiError } from '../errors.ts';
import type { JsonObject } from '../record.ts';

const OF_STATUS: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
]);

/** Types of a model server's own that are more precise than its status. */
const KEPT: ReadonlySet<string> = new Set(['billing_error', 'overloaded_error', 'rate_limit_error']);

/** What Anthropic's types make of an error; `status` is undefined for one that has been sent without. */
function anthropicErrorType({ type, status }: Pick<ApiError, 'type' | 'status'>): string {
  if (KEPT.has(type)) return type;
  return OF_STATUS.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/** The body of an error answer, and the data of an `error` event. */
export function anthropicError(error: ApiError, requestId: string): JsonObject {
  return {
    type: 'error',
    error: { type: anthropicErrorType(error), message: error.message, ...detailsOf(error) },
    request_id: requestId,
  };
}

/** By this detail Anthropic's SDK goes on without a thread, and sends the whole conversation with each request. */
function detailsOf({ code, param }: ApiError): JsonObject {
  if (code !== 'unsupported_parameter' || param !== 'thread') return {};
  return { details: { error_code: 'thread_unsupported_request', unsupported: [param] } };
}
