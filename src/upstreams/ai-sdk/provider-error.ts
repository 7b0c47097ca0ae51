/** Converts the errors of the AI SDK's providers, of any version, into errors that the client may see. */
import { retryAfterMs } from '../../ports/host/retry-after.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isError, isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import { scrubber } from '../../protocol/secrets/scrub.ts';
import { errorInBody, upstreamError } from '../../protocol/upstream-errors/upstream-error.ts';
import { backoffMs, refusalPauseMs } from '../http/connection/retry-pause.ts';

/** Where an error names no address. */
const NOWHERE = 'http://unknown.invalid';
const UNNAMED = 'The model server reported an error.';

/** The error of a request that was refused, or that did not reach the server. */
export function requestError(error: unknown): ApiError {
  return providerError(error, 'upstream_unavailable', 'The model server could not be reached.');
}

/** The error within an answer: as a part of the stream, or thrown by it. */
export function streamError(error: unknown): ApiError {
  const isText = typeof error === 'string';
  const said = isText || (isRecord(error) && !isError(error)) ? errorInBody({ error: error || UNNAMED }) : undefined;
  if (said) return withoutSecrets(said);
  return providerError(error, 'upstream_truncated', 'The connection to the model server broke.');
}

function providerError(error: unknown, code: 'upstream_unavailable' | 'upstream_truncated', message: string): ApiError {
  if (error instanceof ApiError) return error;
  const { statusCode, responseHeaders, responseBody, url, name } = Object(error) as JsonObject;
  if (typeof statusCode === 'number' && statusCode >= 400) {
    const { 'retry-after': retryAfter } = Object(responseHeaders) as JsonObject;
    const passed = typeof retryAfter === 'string' ? { 'retry-after': retryAfter } : {};
    const said = plainText(responseBody);
    const refusal = upstreamError(statusCode, said, passed);
    return withoutSecrets(refusal, plainText(url));
  }
  const beginning = plainText(Object(error).message).slice(0, 300);
  // An error of the provider's own: it cannot write this request, or read this answer.
  if (name === 'AI_UnsupportedFunctionalityError' || name === 'AI_InvalidPromptError') {
    const message = `The model does not support this request: ${beginning}`;
    return new ApiError('invalid_value', message, { cause: error });
  }
  const isUnfinished = name === 'AI_InvalidResponseDataError' && /without a finish/.test(beginning);
  if (plainText(name).startsWith('AI_') && name !== 'AI_APICallError' && !isUnfinished) {
    return new ApiError('upstream_error', 'The model server sent something that cannot be read.', { cause: error });
  }
  return new ApiError(code, message, { cause: error });
}

/** The key is within the provider; what looks like one, and the address, are masked. */
function withoutSecrets(error: ApiError, url = ''): ApiError {
  const baseURL = new URL(URL.canParse(url) ? url : NOWHERE);
  // The cast: it returns what it is given, in its kind.
  return scrubber({ baseURL, apiKey: undefined, forwardHeaders: [] }).of({})(error) as ApiError;
}

/** How long to wait before the request is made again; undefined if it must not be. */
export function pauseAfter(error: unknown, retry: number): number | undefined {
  const { statusCode, responseHeaders, isRetryable, name } = Object(error) as JsonObject;
  const isUnreached = statusCode === undefined && (isRetryable === true || name === 'TypeError');
  const asked = isRecord(responseHeaders) ? retryAfterMs(responseHeaders) : undefined;
  return isUnreached ? backoffMs(retry) : refusalPauseMs(statusCode, retry, asked);
}
