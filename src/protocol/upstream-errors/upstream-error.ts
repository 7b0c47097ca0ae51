/** Converts a model server's errors, of any shape, into errors that the client may see. */

import { ApiError, type ApiErrorOptions } from '../errors.ts';
import { beginningOf } from '../printable.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { CONTEXT_OVERFLOW, isContextOverflow } from './context-overflow.ts';

/**
 * Maximum characters of a message that are searched for the conversation's length; some servers quote the conversation
 * in it.
 */
const LONGEST_READ = 64 * 1024;

/** The error in the body of an answer with a good status, or in a chunk of a stream. */
export function errorInBody(body: JsonObject): ApiError | undefined {
  if (body.error) return upstreamError(statusInBody(body), body);
  if (body.object === 'error' || body.type === 'error') return upstreamError(statusInBody(body), body);
  return undefined;
}

/**
 * The error of a model server that refused: its status, its message and its code in OpenAI's envelope. The message
 * keeps its length until the upstream has removed its secrets. `body` is the parsed answer, or undefined if it was not
 * JSON, since an HTML page has no use for the client.
 */
export function upstreamError(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  forHost: Pick<ApiErrorOptions, 'cause' | 'advice'> = {},
): ApiError {
  const details = detailsOf(body);
  const known = isClientMistake(status, details) ? 400 : knownStatus(status);
  if (isOverflow(details, known)) return overflow(details, known, headers);
  const isMistake = known !== status && known === 400;
  return new ApiError(isMistake ? 'invalid_request' : codeOf(details, known), messageOf(details, known), {
    status: known,
    type: isMistake ? 'invalid_request_error' : typeOf(details, known),
    param: typeof details.param === 'string' ? details.param : null,
    headers: known === 503 && isLoading(details) ? { 'retry-after': LOADING_SECONDS, ...headers } : headers,
    advice: forHost.advice,
    ...(forHost.cause ? { cause: forHost.cause } : {}),
  });
}

/** A client that receives OpenAI's code can make the conversation shorter. */
function overflow(details: JsonObject, status: number, headers: Readonly<Record<string, string>>): ApiError {
  const param = typeof details.param === 'string' ? details.param : null;
  const refused = { status: 400, type: 'invalid_request_error', param, headers };
  return new ApiError(CONTEXT_OVERFLOW, messageOf(details, status), refused);
}

/** What llama.cpp answers with 500, although the same request never succeeds. */
const MISTAKES = ['too large to process', 'input is not supported'] as const;

function isClientMistake(status: number, details: JsonObject): boolean {
  if (status !== 500) return false;
  const text = messagesOf(details).filter(isText).join('\n').slice(0, LONGEST_READ).toLowerCase();
  return MISTAKES.some((words) => text.includes(words));
}

/** A server that loads its model does not say how long it takes. */
const LOADING_SECONDS = '5';

function isLoading(details: JsonObject): boolean {
  return messagesOf(details).some(
    (text) => isText(text) && text.slice(0, LONGEST_READ).toLowerCase().includes('loading model'),
  );
}

/** These concern keys, accounts, addresses and rates, whatever their message. */
const OTHER_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 429]);

function isOverflow(details: JsonObject, status: number): boolean {
  if (OTHER_STATUSES.has(status)) return false;
  const { type, code, metadata } = details;
  // OpenRouter nests the message of the server behind it.
  const behind = isRecord(metadata) && typeof metadata.raw === 'string' ? metadata.raw : '';
  const text = [...messagesOf(details), behind].filter(isText).join('\n');
  return isContextOverflow(type, code, text.slice(0, LONGEST_READ));
}

/** 529 is one server's own status for being overloaded; clients know 503. */
function knownStatus(status: number): number {
  if (status === 529) return 503;
  return isErrorStatus(status) ? status : 502;
}

/**
 * Servers nest the details under `error`, write a bare string there, or write them at the top; Gemini puts them into a
 * list.
 */
function detailsOf(answer: unknown): JsonObject {
  const body = Array.isArray(answer) ? answer[0] : answer;
  if (!isRecord(body)) return {};
  if (isRecord(body.error)) return body.error;
  if (typeof body.error === 'string') return { message: body.error };
  return body;
}

function messageOf(details: JsonObject, status: number): string {
  const text = messagesOf(details).find(isText);
  if (text === undefined || /<html|<!doctype/i.test(text)) return `The model server answered with status ${status}.`;
  return text;
}

function messagesOf({ message, detail, errors }: JsonObject): readonly unknown[] {
  return [message, detail, ...listed(detail), ...listed(errors)];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

/** The messages of a list of errors, the format of FastAPI and others. */
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

/** Codes are kept to count errors, unlike their messages. */
const LONGEST_CODE = 128;

function codeOf(details: JsonObject, status: number): string {
  const { code } = details;
  // A code that only repeats the status adds no information.
  if (typeof code === 'string' && code !== '' && !/^\d+$/.test(code)) return beginningOf(code, LONGEST_CODE);
  if (status === 404 && messagesOf(details).some(isUnknownModel)) return 'model_not_found';
  return CODE_OF_STATUS[status] ?? 'upstream_error';
}

/** Servers that have no code for it, such as vLLM and Ollama, say so. */
function isUnknownModel(text: unknown): boolean {
  if (!isText(text)) return false;
  const lower = text.slice(0, LONGEST_READ).toLowerCase();
  return lower.includes('model') && (lower.includes('does not exist') || lower.includes('not found'));
}

function typeOf({ type }: JsonObject, status: number): string {
  if (typeof type === 'string' && type.endsWith('_error')) return type;
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** For an error in an answer whose own status is good. */
const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['rate_limit_error', 429],
  ['overloaded_error', 503],
]);

function statusInBody(body: JsonObject): number {
  const details = detailsOf(body);
  const status = [details.status, details.status_code, details.code, body.status].map(numberIn).find(isErrorStatus);
  // The cast: anything but a text is not in the map.
  return status ?? STATUS_OF_TYPE.get(details.type as string) ?? 502;
}

/** Objects are no numbers, and some of them cannot be asked for one. */
function numberIn(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 600;
}
