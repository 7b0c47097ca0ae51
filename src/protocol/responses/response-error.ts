/** The `error` of a response: its code is always one that OpenAI's clients know. */
import type { ErrorBody } from '../errors.ts';

/** Every code that OpenAI's types define for it. */
const CODES: ReadonlySet<string> = new Set([
  'server_error',
  'rate_limit_exceeded',
  'invalid_prompt',
  'data_residency_mismatch',
  'bio_policy',
  'misalignment_policy_violation',
  'vector_store_timeout',
  'invalid_image',
  'invalid_image_format',
  'invalid_base64_image',
  'invalid_image_url',
  'image_too_large',
  'image_too_small',
  'image_parse_error',
  'image_content_policy_violation',
  'invalid_image_mode',
  'image_file_too_large',
  'unsupported_image_media_type',
  'empty_image_file',
  'failed_to_download_image',
  'image_file_not_found',
]);

/** Codes that OpenAI's types lack but its servers send, and that its own client handles. */
const UNLISTED_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'insufficient_quota',
  'usage_not_included',
  'server_is_overloaded',
  'slow_down',
]);

/** An error with the HTTP status that it would have had, if one is known. */
type Failure = Pick<ErrorBody, 'code' | 'message'> &
  Partial<Pick<ErrorBody, 'type' | 'param'>> & {
    readonly status?: number;
  };

/** The error in a response; a more specific code without a counterpart in OpenAI's types is its `reason`. */
export function responseError(failure: Failure): Readonly<Record<string, unknown>> {
  const { message, type = 'server_error', param = null, status } = failure;
  let code: string;
  if (failure.code !== null && (CODES.has(failure.code) || UNLISTED_CODES.has(failure.code))) code = failure.code;
  else if (status === 429 || failure.type === 'rate_limit_error') code = 'rate_limit_exceeded';
  else {
    const isRefused = status === undefined ? failure.type === 'invalid_request_error' : REFUSED.has(status);
    code = isRefused ? 'invalid_prompt' : 'server_error';
  }
  const reason = failure.code === null || failure.code === code ? {} : { reason: failure.code };
  return { code, message, type, param, ...reason };
}

/** The failure of a response that ended with this error: `responseError` makes the same error of it. */
export function storedFailure({ code, reason, ...error }: StoredError): ErrorBody & { readonly status?: number } {
  const status = STATUSES[code];
  return { ...error, code: reason ?? code, ...(status === undefined ? {} : { status }) };
}

/** An error that `responseError` made. */
export type StoredError = Omit<ErrorBody, 'code'> & { readonly code: string; readonly reason?: string };

const STATUSES: Readonly<Record<string, number>> = { rate_limit_exceeded: 429, invalid_prompt: 400 };

const REFUSED: ReadonlySet<number> = new Set([400, 404, 413, 415, 422]);
