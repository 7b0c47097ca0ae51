/** Errors that a client may see, in OpenAI's envelope. */

/** HTTP status and OpenAI `type` of every code this package itself raises; documented in docs/errors.md. */
const CODES = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_type: [400, 'invalid_request_error'],
  invalid_value: [400, 'invalid_request_error'],
  missing_required_parameter: [400, 'invalid_request_error'],
  unsupported_parameter: [400, 'invalid_request_error'],
  mutually_exclusive_parameters: [400, 'invalid_request_error'],
  integer_below_min_value: [400, 'invalid_request_error'],
  integer_above_max_value: [400, 'invalid_request_error'],
  decimal_below_min_value: [400, 'invalid_request_error'],
  decimal_above_max_value: [400, 'invalid_request_error'],
  string_above_max_length: [400, 'invalid_request_error'],
  array_above_max_length: [400, 'invalid_request_error'],
  invalid_multipart: [400, 'invalid_request_error'],
  file_quota_exceeded: [400, 'invalid_request_error'],
  unsupported_file: [400, 'invalid_request_error'],
  invalid_file: [400, 'invalid_request_error'],
  vector_store_quota_exceeded: [400, 'invalid_request_error'],
  invalid_skill: [400, 'invalid_request_error'],
  skill_quota_exceeded: [400, 'invalid_request_error'],
  previous_response_not_found: [400, 'invalid_request_error'],
  response_in_progress: [400, 'invalid_request_error'],
  history_too_long: [400, 'invalid_request_error'],
  conversation_too_long: [400, 'invalid_request_error'],
  item_already_in_conversation: [400, 'invalid_request_error'],
  invalid_encrypted_content: [400, 'invalid_request_error'],
  container_not_found: [400, 'invalid_request_error'],
  container_expired: [400, 'invalid_request_error'],
  container_quota_exceeded: [400, 'invalid_request_error'],
  tool_call_not_found: [400, 'invalid_request_error'],
  tool_output_missing: [400, 'invalid_request_error'],
  content_filter: [400, 'invalid_request_error'],
  approval_not_found: [400, 'invalid_request_error'],
  approval_mismatch: [400, 'invalid_request_error'],
  tenant_unknown: [400, 'invalid_request_error'],
  ambiguous_credentials: [400, 'invalid_request_error'],
  events_expired: [400, 'invalid_request_error'],
  batch_in_progress: [400, 'invalid_request_error'],
  webhook_unverified: [400, 'invalid_request_error'],
  not_found: [404, 'invalid_request_error'],
  response_not_found: [404, 'invalid_request_error'],
  conversation_not_found: [404, 'invalid_request_error'],
  item_not_found: [404, 'invalid_request_error'],
  model_not_found: [404, 'invalid_request_error'],
  prompt_not_found: [404, 'invalid_request_error'],
  file_not_found: [404, 'invalid_request_error'],
  vector_store_not_found: [404, 'invalid_request_error'],
  file_batch_not_found: [404, 'invalid_request_error'],
  batch_not_found: [404, 'invalid_request_error'],
  skill_not_found: [404, 'invalid_request_error'],
  upload_timeout: [408, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  file_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  request_aborted: [499, 'invalid_request_error'],
  reader_too_slow: [408, 'invalid_request_error'],
  range_not_satisfiable: [416, 'invalid_request_error'],
  mcp_server_unavailable: [422, 'invalid_request_error'],
  http_error: [424, 'external_connector_error'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  insufficient_quota: [429, 'insufficient_quota'],
  too_many_streams: [429, 'rate_limit_error'],
  too_many_batches: [429, 'rate_limit_error'],
  too_many_bodies: [429, 'rate_limit_error'],
  too_many_uploads: [429, 'rate_limit_error'],
  too_many_documents: [429, 'rate_limit_error'],
  too_many_mcp_servers: [429, 'rate_limit_error'],
  server_error: [500, 'server_error'],
  store_error: [500, 'server_error'],
  upstream_error: [502, 'server_error'],
  upstream_unavailable: [502, 'server_error'],
  upstream_truncated: [502, 'server_error'],
  output_too_large: [502, 'server_error'],
  budget_unavailable: [503, 'server_error'],
  guard_failed: [503, 'server_error'],
  server_draining: [503, 'server_error'],
  upstream_timeout: [504, 'server_error'],
  duration_exceeded: [504, 'server_error'],
} as const satisfies Record<string, readonly [status: number, type: string]>;

/** A code this package raises; an upstream's own codes pass through as they are. */
export type ErrorCode = keyof typeof CODES;

/** The codes, for documentation and tests. */
export const errorCodes = Object.keys(CODES) as readonly ErrorCode[];

/** What distinguishes one error from another of the same code. */
export interface ApiErrorOptions extends ErrorOptions {
  /** The request field at fault, as a path such as `input[2].content`. Default: null. */
  readonly param?: string | null;
  /** The HTTP status, for an upstream's answer. Default: the code's own, or 500. */
  readonly status?: number;
  /** OpenAI's type, for an upstream's answer. Default: the code's own, or `server_error`. */
  readonly type?: string;
  /** Response headers that are sent with the error, such as `retry-after`. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Host and port of the model server that it comes from; for the host only, and not part of any answer. */
  readonly server?: string | undefined;
  /** What the host can do about it, in one sentence; for the host's log only, and not part of any answer. */
  readonly advice?: string | undefined;
}

/** OpenAI's error envelope, as the `error` key of a JSON body. */
export interface ErrorBody {
  /** What is wrong, in plain English. */
  readonly message: string;
  /** OpenAI's class of the error, such as `invalid_request_error`. */
  readonly type: string;
  /** The request field at fault, as a path; null if none is. */
  readonly param: string | null;
  /** The code, for programs; null if a model server sent none. */
  readonly code: string | null;
}

/** A failure that is reported to the client; any other error is a fault of this package or of the host. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status of the answer. */
  readonly status: number;
  /** A code of docs/errors.md, or the model server's own. */
  readonly code: string;
  /** OpenAI's class of the error, such as `invalid_request_error`. */
  readonly type: string;
  /** The request field at fault, as a path; null if none is. */
  readonly param: string | null;
  /** Response headers that are sent with the error, such as `retry-after`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Host and port of the model server that it comes from, for the host's log. */
  readonly server: string | undefined;
  /** What the host can do about it, for its log. */
  readonly advice: string | undefined;
  /** The response that failed so, for the host's reports; undefined if there is none, or the answer itself names it. */
  responseId: string | undefined = undefined;

  constructor(code: ErrorCode | (string & {}), message: string, options: ApiErrorOptions = {}) {
    super(message, options);
    // A model server's own code may be any text, such as `toString`.
    const [status, type] = Object.hasOwn(CODES, code) ? CODES[code as ErrorCode] : CODES.server_error;
    this.code = code;
    this.status = options.status ?? status;
    this.type = options.type ?? type;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
    this.server = options.server;
    this.advice = options.advice;
  }

  /** The value of the envelope's `error` key. */
  get body(): ErrorBody {
    return { message: this.message, type: this.type, param: this.param, code: this.code };
  }
}

/** The same error, which names the response that failed so, if there is one. */
export function withResponse(error: unknown, responseId: string | undefined): unknown {
  if (error instanceof ApiError) error.responseId ??= responseId;
  return error;
}

/** The model wrote more of something, such as `a response`, than this server takes. */
export function outputTooLarge(what: string): ApiError {
  return new ApiError('output_too_large', `The model wrote more than this server's limit for ${what}.`);
}

/** Keeps an `ApiError` and turns any other error into a `server_error` that reveals no internals to the client. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('server_error', 'The server had an error while processing the request.', { cause: error });
}
