/** A model server's errors, whatever their shape, as errors that the client may see. */
import { ApiError } from './errors.ts';
import { isRecord } from './record.ts';

type Fields = Readonly<Record<string, unknown>>;

const MESSAGE_CHARACTERS = 4096;

/** The error that an answer with a good status, or a chunk of a stream, carries in its body. */
export function errorInBody(body: Fields): ApiError | undefined {
  if (body.error) return upstreamError(statusInBody(body), body);
  if (body.object === 'error' || body.type === 'error') return upstreamError(statusInBody(body), body);
  return undefined;
}

/**
 * The answer of a model server that refused: its status, its message and its code in OpenAI's envelope.
 * `body` is the parsed answer, or undefined where it was not JSON, since an HTML page tells the client nothing.
 */
export function upstreamError(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ApiError {
  const known = knownStatus(status);
  const details = detailsOf(body);
  return new ApiError(codeOf(details, known), messageOf(details, known), {
    status: known,
    type: typeOf(details, known),
    param: typeof details.param === 'string' ? details.param : null,
    headers,
  });
}

/** 529 is one server's own number for being overloaded; clients know 503. */
function knownStatus(status: number): number {
  if (status === 529) return 503;
  return isErrorStatus(status) ? status : 502;
}

/** Servers nest the details under `error`, write a bare string there, or write them at the top. */
function detailsOf(body: unknown): Fields {
  if (!isRecord(body)) return {};
  if (isRecord(body.error)) return body.error;
  if (typeof body.error === 'string') return { message: body.error };
  return body;
}

function messageOf(details: Fields, status: number): string {
  const said = [details.message, details.detail, ...listed(details.detail), ...listed(details.errors)].find(isText);
  if (typeof said !== 'string' || /<html|<!doctype/i.test(said))
    return `The model server answered with status ${status}.`;
  return said.slice(0, MESSAGE_CHARACTERS);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

/** The messages of a list of errors, as FastAPI and others have it. */
function listed(errors: unknown): readonly unknown[] {
  return Array.isArray(errors) ? errors.filter(isRecord).map(({ msg, message }) => msg ?? message) : [];
}

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'invalid_api_key',
  403: 'permission_denied',
  404: 'not_found',
  408: 'upstream_timeout',
  413: 'request_too_large',
  422: 'invalid_request',
  429: 'rate_limit_exceeded',
  503: 'upstream_unavailable',
  504: 'upstream_timeout',
};

function codeOf({ code }: Fields, status: number): string {
  // A code that only repeats the status says nothing.
  if (typeof code === 'string' && code !== '' && !/^\d+$/.test(code)) return code;
  return CODE_OF_STATUS[status] ?? 'upstream_error';
}

function typeOf({ type }: Fields, status: number): string {
  if (typeof type === 'string' && type.endsWith('_error')) return type;
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** Of an error in an answer whose own status is good. */
const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['rate_limit_error', 429],
  ['overloaded_error', 503],
]);

function statusInBody(body: Fields): number {
  const details = detailsOf(body);
  const status = [details.status, details.status_code, details.code, body.status].map(Number).find(isErrorStatus);
  return status ?? STATUS_OF_TYPE.get(String(details.type)) ?? 502;
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 600;
}
