/** Converts a model server's errors, of any shape, into errors that the client may see. */

import { ApiError, type ApiErrorOptions } from '../errors.ts';
import { jsonIn } from '../json/json-text.ts';
import { truncateText } from '../printable.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { CONTEXT_OVERFLOW, isContextOverflow } from './context-overflow.ts';

/**
 * Maximum characters of a message that are searched for the conversation's length; some servers quote the conversation
 * in it.
 */
const MAX_READ_LENGTH = 64 * 1024;
/** Longer text is no message. */
const MAX_TEXT_LENGTH = 2048;

/** The error in the body of an answer with a good status, or in a chunk of a stream. */
export function errorInBody(body: JsonObject): ApiError | undefined {
  if (body.error || isUnwrappedError(body)) return upstreamError(statusInBody(body), body);
  const { base_resp: state, x_groq: groq } = body;
  // MiniMax says in each answer whether it is one.
  if (isRecord(state) && state.status_code) return upstreamError(statusInBody(body), body);
  // Groq writes beside a chunk why it stops early.
  if (isRecord(groq) && groq.error) return upstreamError(statusInBody(groq), groq);
  // OpenRouter tells it of the choice whose provider failed.
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  return isRecord(choice) && choice.error ? upstreamError(statusInBody(choice), choice) : undefined;
}

/**
 * Whether the body is itself an error, without the key `error`. FastChat, FastAPI and Databricks write such ones even into
 * their streams, in the place of a chunk; a message alone may be a note.
 */
function isUnwrappedError(body: JsonObject): boolean {
  const { object, type, choices, message, detail } = body;
  if (object === 'error' || type === 'error') return true;
  if (choices !== undefined || object !== undefined || (typeof type === 'string' && !/error$/i.test(type)))
    return false;
  if (body.error_code) return true;
  // FastAPI's is a text or a list; another one may be a detail of an answer.
  const isDetail = (typeof detail === 'string' || Array.isArray(detail)) && detail.length > 0;
  if (isDetail && body.id === undefined) return true;
  return typeof message === 'string' && message !== '' && Boolean(type || isErrorCode(body.code));
}

/** Whether a code is that of an error: some servers write one of success into each chunk. */
function isErrorCode(code: unknown = 0): boolean {
  const status = Number(code);
  return Number.isNaN(status) ? !SUCCESS.has(String(code).toLowerCase()) : status >= 400;
}

const SUCCESS: ReadonlySet<string> = new Set(['success', 'ok']);

/**
 * The error of a model server that refused: its status, its message and its code in OpenAI's envelope. The message
 * keeps its length until the upstream has removed its secrets. `body` is the answer, parsed or as its text: short text
 * that is no JSON is the message of a refusal below 500, while that of a proxy tells of its network, and an HTML page has no use for the client.
 */
export function upstreamError(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  forHost: Pick<ApiErrorOptions, 'cause' | 'advice'> = {},
): ApiError {
  const parsed = typeof body === 'string' ? jsonIn(body) : body;
  const answer = parsed === undefined ? body : parsed;
  const isText =
    typeof answer === 'string' && status < 500 && answer.length <= MAX_TEXT_LENGTH && !/^\s*[<{[]/.test(answer);
  const details = isText ? { message: answer.trim() } : errorDetails(answer);
  const messages = errorMessages(details);
  const said = status === 500 ? messages.join('\n').slice(0, MAX_READ_LENGTH).toLowerCase() : '';
  const isMistake = MISTAKES.some((words) => said.includes(words));
  const isModel = messages.some((each) => isUnknownModel(each, status));
  // 529 is one server's own status for being overloaded; clients know 503.
  const knownStatus = status === 529 ? 503 : isErrorStatus(status) ? status : 502;
  const clientStatus = isMistake ? 400 : isModel ? 404 : knownStatus;
  const [message] = messages;
  const isPage = message === undefined || /<html|<!doctype/i.test(message);
  const shownMessage = isPage ? `The model server answered with status ${clientStatus}.` : message;
  const param = typeof details.param === 'string' ? details.param : null;
  // A client that receives OpenAI's code can make the conversation shorter.
  const { type, code, metadata } = details;
  // OpenRouter nests the message of the server behind it.
  const nested = isRecord(metadata) && typeof metadata.raw === 'string' ? [metadata.raw] : [];
  const searched = [...messages, ...nested].join('\n').slice(0, MAX_READ_LENGTH);
  if (!OTHER_STATUSES.has(clientStatus) && isContextOverflow(type, code, searched))
    return new ApiError(CONTEXT_OVERFLOW, shownMessage, { status: 400, type: 'invalid_request_error', param, headers });
  const isLoading = clientStatus === 503 && messages.some((each) => isLoadingModel(each.slice(0, MAX_LOADING_LENGTH)));
  const knownCode = isModel ? 'model_not_found' : errorCode(details, clientStatus);
  return new ApiError(isMistake ? 'invalid_request' : knownCode, shownMessage, {
    status: clientStatus,
    type: isMistake ? 'invalid_request_error' : errorType(details, clientStatus),
    param,
    headers: isLoading ? { 'retry-after': LOADING_SECONDS, ...headers } : headers,
    advice: forHost.advice,
    ...(forHost.cause ? { cause: forHost.cause } : {}),
  });
}

/** The error of a stream in which a second answer begins within the first: which parts belong to which is not known. */
export function secondAnswerError(): ApiError {
  return new ApiError('upstream_error', 'The model server began a second answer within the first one.');
}

/** What llama.cpp and Ollama answer with 500, although the same request never succeeds. */
const MISTAKES = [
  'too large to process',
  'input is not supported',
  'required for image input',
  // Templates refuse an order of messages, and arguments of the history that are no JSON.
  'jinja exception',
  'roles must alternate',
  'failed to parse tool call arguments as json',
  'json schema conversion failed',
  'failed to parse grammar',
  'requires --jinja',
] as const;

/** A server that loads its model does not say how long it takes. */
const LOADING_SECONDS = '5';
const MAX_LOADING_LENGTH = 512;

function isLoadingModel(message: string): boolean {
  return (
    /\bloading model\b/i.test(message) || areInOrder(message, /\bmodel\b/i, /\b(?:is|still) (?:currently )?loading\b/i)
  );
}

/** Whether the second is found behind the first. Not one pattern: with anything between them it would look at the rest once for each first. */
function areInOrder(message: string, first: RegExp, second: RegExp): boolean {
  const at = message.search(first);
  return at >= 0 && second.test(message.slice(at));
}

/** These concern keys, accounts, addresses and rates, whatever their message. */
const OTHER_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 404, 408, 429]);

/**
 * Servers nest the details under `error`, write a bare string there, or write them at the top; Gemini puts them into a
 * list, and FastAPI under `detail`.
 */
function errorDetails(answer: unknown): JsonObject {
  const outer = Array.isArray(answer) ? answer[0] : answer;
  if (!isRecord(outer)) return {};
  const body = isRecord(outer.detail) && !outer.error && !outer.message ? outer.detail : outer;
  if (isRecord(body.error)) return body.error;
  // The frameworks that write a message beside it repeat the status in it.
  if (typeof body.error === 'string') return { message: body.message ?? body.error, detail: body.error };
  if (isRecord(body.base_resp)) return { message: body.base_resp.status_msg };
  if (!body.error_code) return body;
  // Of FastChat, Baidu and Databricks.
  return { message: body.message ?? body.error_msg ?? body.text, code: body.error_code };
}

/** How deep messages are searched for. */
const MAX_MESSAGE_DEPTH = 3;

/** All messages that are not empty; FastAPI, Mistral and others write lists of errors, and objects in the place of a message. */
function errorMessages(error: unknown, depth = 0): readonly string[] {
  if (typeof error === 'string') return error.trim() === '' ? [] : [error];
  if (depth > MAX_MESSAGE_DEPTH || typeof error !== 'object' || error === null) return [];
  const { message, detail, msg, errors, error: nested } = error as JsonObject;
  const parts = Array.isArray(error) ? error : [message, detail, msg, errors, nested];
  return parts.flatMap((part) => errorMessages(part, depth + 1));
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
const MAX_CODE_LENGTH = 128;

function errorCode({ code }: JsonObject, status: number): string {
  // A code that only repeats the status adds no information.
  if (typeof code === 'string' && code !== '' && !/^\d+$/.test(code)) return truncateText(code, MAX_CODE_LENGTH);
  return CODE_OF_STATUS[status] ?? 'upstream_error';
}

/** Longer messages tell of something else. */
const MAX_UNKNOWN_LENGTH = 512;

/** Few servers have OpenAI's code for it; the others say so, with 404 or 400. */
function isUnknownModel(message: string, status: number): boolean {
  if (message.length > MAX_UNKNOWN_LENGTH || (status !== 400 && status !== 404)) return false;
  const isMissing =
    areInOrder(message, /\b(?:models?|deployment)\b/i, /\b(?:does not exist|not found)\b/i) ||
    areInOrder(message, /\bdoes not exist\b/i, /\bmodel\b/i);
  if (status === 404 && isMissing) return true;
  if (UNKNOWN_MODEL.some((words) => words.test(message))) return true;
  const ends = [...message.matchAll(/\b(?:not found|does not exist|not exist)\b/gi)];
  return ends.some(({ index }) => endsWithModel(message.slice(0, index)));
}

/** Whether a text ends with a model's name, as in `the model 'x' is`. */
function endsWithModel(text: string): boolean {
  const words = text.trim().split(/\s+/);
  if (/^(?:is|was)$/i.test(words.at(-1) ?? '')) words.pop();
  const [last = '', previous = ''] = words.reverse();
  return /\bmodels?(?:$|[/:])/i.test(last) || (/\bmodels?[/:]?$/i.test(previous) && /^['"\u0060\w./:@+-]+$/.test(last));
}

const UNKNOWN_MODEL: readonly RegExp[] = [
  /\bnot found the model\b|\bunknown model\b|\bis not a valid model id\b|\bmodel identifier is invalid\b|模型不存在/i,
  /\binvalid model(?: name| id)?(?: passed|:| ['"\u0060])|\bdeployment for this resource does not exist\b/i,
  // Anthropic's, and OpenRouter's.
  /^model: \S+$|^no endpoints found for \S+$/i,
];

function errorType({ type }: JsonObject, status: number): string {
  if (typeof type === 'string' && type.endsWith('_error')) return type;
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

/** The status of an error in an answer whose own status is good, by its code or its type. */
const STATUS_OF_NAME: ReadonlyMap<unknown, number> = new Map([
  ['invalid_request_error', 400],
  ['invalid_prompt', 400],
  ['content_filter', 400],
  ['authentication_error', 401],
  ['invalid_api_key', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['model_not_found', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
  ['too_many_requests', 429],
  ['insufficient_quota', 429],
  // The types of OpenAI's rate limits.
  ['tokens', 429],
  ['requests', 429],
  ['overloaded_error', 503],
  ['server_overloaded', 503],
  ['server_is_overloaded', 503],
  ['slow_down', 503],
  ['timeout_error', 504],
]);

function statusInBody(body: JsonObject): number {
  const details = errorDetails(body);
  // Objects are no numbers, and some of them cannot be asked for one.
  const status = [details.status, details.status_code, details.statusCode, details.code, body.status]
    .map((value) => (typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN))
    .find(isErrorStatus);
  return status ?? STATUS_OF_NAME.get(details.code) ?? STATUS_OF_NAME.get(details.type) ?? 502;
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status < 600;
}
