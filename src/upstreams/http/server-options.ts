/** The options that all upstreams share: the server's address, and the headers of each request. */
import { asSecret, isHeaderValue, type OptionCheck, positiveInteger } from '../../ports/host/options-check.ts';
import { warnOnce } from '../../ports/host/warner.ts';
import { ignoreRejection, isPromise, isRecord } from '../../protocol/record.ts';
import { type ModelsOption, modelsFault } from './model-table.ts';

/** Headers for every request, or a function of the client's own headers, for one key per tenant. */
export type UpstreamHeaders =
  | Readonly<Record<string, string>>
  | ((clientHeaders: Headers) => Readonly<Record<string, string>>);

/** The server settings of every upstream. `undefined` means omitted. */
export interface ServerOptions {
  /** Further headers of every request, or a function that returns them for one request. Default: none. */
  readonly headers?: UpstreamHeaders | undefined;
  /** Names of client headers that are passed on. Default: `traceparent`, `tracestate`, `x-request-id`. */
  readonly forwardHeaders?: readonly string[] | undefined;
  /** Attempts after the first, made only before the first byte. Default: 2. */
  readonly retries?: number | undefined;
  /** Milliseconds to connect. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Facts about models that the server does not say itself, by the name of the model or a pattern with `*`: a name goes
   * before patterns, of which the first that fits counts. They go before what the server says. Default: none.
   */
  readonly models?: ModelsOption | undefined;
}

/** The options with every default filled in. */
export interface ServerSettings {
  readonly headers: UpstreamHeaders;
  readonly forwardHeaders: readonly string[];
  readonly retries: number;
  readonly connectTimeoutMs: number;
  readonly models: ModelsOption;
}

const FORWARDED_HEADERS = ['traceparent', 'tracestate', 'x-request-id'];

/** The check of a text option. */
export const string: OptionCheck = (value) => typeof value === 'string' || 'a string';

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_RULE = 'that an HTTP header can carry, without line breaks or characters beyond Latin-1';

const isKey = (value: unknown) => {
  if (typeof value !== 'string') return 'a string';
  return isHeaderValue(value) || `a string ${HEADER_RULE}`;
};

/** The checks of the shared options, to which an upstream adds its own. */
export const serverChecks: Readonly<Record<keyof ServerOptions | 'baseURL' | 'apiKey', OptionCheck>> = {
  baseURL: asSecret(string),
  apiKey: asSecret(isKey),
  headers: asSecret((value) => typeof value === 'function' || headersFault(value) || true),
  forwardHeaders: (value) =>
    (Array.isArray(value) && value.every((name) => typeof name === 'string')) || 'a list of header names',
  retries: (value) => (Number.isInteger(value) && (value as number) >= 0) || 'a whole number from 0',
  connectTimeoutMs: positiveInteger,
  models: (value) => modelsFault(value) ?? true,
};

/** Undefined if HTTP can carry all headers; otherwise names the invalid header and never its value. */
function headersFault(headers: unknown): string | undefined {
  if (!isRecord(headers)) return 'an object or a function';
  // Neither has names of its own, so that none of their headers would be sent.
  if (isPromise(headers) || Symbol.iterator in headers)
    return 'an object with the names as its keys, and no promise, Headers or Map';
  const wrong = Object.entries(headers).find(([name, value]) => {
    // `undefined` means omitted here too.
    const isHeader = HEADER_NAME.test(name) && (value === undefined || isHeaderValue(value));
    return !isHeader;
  });
  return wrong && `headers with values ${HEADER_RULE} (look at '${wrong[0]}')`;
}

/** Fills in the defaults of options that passed their checks. */
export function serverSettings(options: ServerOptions): ServerSettings {
  return {
    headers: options.headers ?? {},
    forwardHeaders: options.forwardHeaders ?? FORWARDED_HEADERS,
    retries: options.retries ?? 2,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    models: options.models ?? {},
  };
}

/** The paths that the upstreams append themselves. */
const ENDPOINT = /\/(chat\/completions|completions|responses|messages)\/*$/;

/** The server's address; throws a `TypeError` if it is invalid or contains a secret or an endpoint. */
export function serverURL(owner: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    // The part before a query and after the credentials.
    const [place = ''] = text.split(/[?#]/, 1);
    const shown = place.slice(place.lastIndexOf('@') + 1);
    throw new TypeError(`${owner}: baseURL must be an http(s) URL, got '${shown}'`);
  }
  if (url.username || url.password)
    throw new TypeError(`${owner}: baseURL must hold no credentials; use apiKey or headers`);
  const [endpoint] = ENDPOINT.exec(url.pathname) ?? [];
  if (endpoint) {
    const base = url.origin + url.pathname.slice(0, -endpoint.length);
    throw new TypeError(`${owner}: baseURL must not have the endpoint '${endpoint}' in it; write '${base}'`);
  }
  return url;
}

/** The address and key of OpenAI's own clients: a key belongs to its server and must not be sent to another by omission. */
export function openaiServer(
  owner: string,
  { baseURL, apiKey }: { readonly baseURL?: string | undefined; readonly apiKey?: string | undefined },
): { readonly baseURL: URL; readonly apiKey: string | undefined } {
  const configured = baseURL ?? (process.env.OPENAI_BASE_URL || undefined);
  const key = apiKey ?? (baseURL === undefined ? envKey(owner, 'OPENAI_API_KEY') : undefined);
  // An OpenAI key proves the intent. Any other key, or none, usually means a forgotten URL or an unset variable.
  if (configured === undefined && !key?.startsWith('sk-')) {
    const why = 'neither baseURL nor OPENAI_BASE_URL is set';
    const message = `${owner}: ${why}, so prompts go to ${OPENAI}${key ? '' : ', without an API key'}. Set baseURL to your model server, or to that URL if you want OpenAI.`;
    warnOnce('openai', message);
  }
  return { baseURL: serverURL(owner, configured ?? OPENAI), apiKey: key };
}

/** The key from the environment. Throws a `TypeError` that does not quote it. */
export function envKey(owner: string, variable: string): string | undefined {
  const key = process.env[variable];
  if (key === undefined || isHeaderValue(key)) return key;
  throw new TypeError(`${owner}: ${variable} must be a string ${HEADER_RULE}`);
}

const OPENAI = 'https://api.openai.com/v1';

/** The key as a bearer token; nothing if there is none. */
export function bearerHeaders({ apiKey }: { readonly apiKey: string | undefined }): Readonly<Record<string, string>> {
  return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
}

/**
 * The headers of one request: the key, the host's headers, and only the allowed ones of the client. Throws a `TypeError` that names
 * an invalid header of the host's function and not its value.
 */
export function requestHeaders(
  owner: string,
  { headers, forwardHeaders }: ServerSettings,
  key: Readonly<Record<string, string>>,
  client: Headers,
): Readonly<Record<string, string>> {
  const sent: Record<string, string> = {};
  for (const name of forwardHeaders) {
    const value = client.get(name);
    if (value !== null) sent[name.toLowerCase()] = value;
  }
  sent['content-type'] = 'application/json';
  sent.accept = 'text/event-stream, application/json';
  // Compression delays a stream; without the header a server may choose it.
  sent['accept-encoding'] = 'identity';
  if (typeof headers !== 'function') return Object.assign(sent, key, lowerCaseNames(headers));
  const hostHeaders: unknown = headers(client);
  ignoreRejection(hostHeaders);
  const fault = headersFault(hostHeaders);
  if (fault) throw new TypeError(`${owner}: headers must return ${fault}`);
  // The cast: checked just above.
  return Object.assign(sent, key, lowerCaseNames(hostHeaders as Readonly<Record<string, string>>));
}

/** Headers that are the same for every request; secrets are recognised by them where no request is known. */
export function fixedHeaders(
  { headers }: ServerSettings,
  key: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return typeof headers === 'function' ? key : { ...key, ...lowerCaseNames(headers) };
}

function lowerCaseNames(headers: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), value]));
}
