/** The options that upstreams of every kind share: where the server is, and what goes with each request. */
import { type OptionCheck, positiveInteger } from '../../ports/options-check.ts';

/** Headers for every request, or worked out from the client's own, for a key per tenant. */
export type UpstreamHeaders =
  | Readonly<Record<string, string>>
  | ((clientHeaders: Headers) => Readonly<Record<string, string>>);

/** What every upstream is told of its server. `undefined` means omitted. */
export interface ServerOptions {
  /** Further headers. */
  readonly headers?: UpstreamHeaders | undefined;
  /** Names of client headers that are passed on. Default: `traceparent`, `tracestate`, `x-request-id`. */
  readonly forwardHeaders?: readonly string[] | undefined;
  /** Attempts after the first, made only before the first byte. Default: 2. */
  readonly retries?: number | undefined;
  /** Milliseconds to connect. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
}

/** The options with every default filled in. */
export interface ServerSettings {
  readonly headers: UpstreamHeaders;
  readonly forwardHeaders: readonly string[];
  readonly retries: number;
  readonly connectTimeoutMs: number;
}

const FORWARDED = ['traceparent', 'tracestate', 'x-request-id'];

/** The check of an option that is true or false. */
export const boolean: OptionCheck = (value) => typeof value === 'boolean' || 'true or false';
/** The check of an option that is text. */
export const string: OptionCheck = (value) => typeof value === 'string' || 'a string';

/** The checks of the shared options, to which an upstream adds its own. */
export const serverChecks: Readonly<Record<keyof ServerOptions | 'baseURL' | 'apiKey', OptionCheck>> = {
  baseURL: string,
  apiKey: string,
  headers: (value) =>
    (typeof value === 'object' && value !== null) || typeof value === 'function' || 'an object or a function',
  forwardHeaders: (value) =>
    (Array.isArray(value) && value.every((name) => typeof name === 'string')) || 'a list of header names',
  retries: (value) => (Number.isInteger(value) && (value as number) >= 0) || 'a whole number from 0',
  connectTimeoutMs: positiveInteger,
};

/** Fills in the defaults of options that passed their checks. */
export function serverSettings(options: ServerOptions): ServerSettings {
  return {
    headers: options.headers ?? {},
    forwardHeaders: options.forwardHeaders ?? FORWARDED,
    retries: options.retries ?? 2,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
  };
}

/** The server's address; throws a `TypeError` for one that is no address, or that holds a secret. */
export function serverURL(owner: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new TypeError(`${owner}: baseURL must be an http(s) URL, got '${text}'`);
  if (url.username || url.password)
    throw new TypeError(`${owner}: baseURL must hold no credentials; use apiKey or headers`);
  return url;
}

/** Where OpenAI's own clients would ask, and with which key: one belongs to its server, and must not go to another by omission. */
export function openaiServer(
  owner: string,
  { baseURL, apiKey }: { readonly baseURL?: string | undefined; readonly apiKey?: string | undefined },
): { readonly baseURL: URL; readonly apiKey: string | undefined } {
  return {
    baseURL: serverURL(owner, baseURL ?? (process.env.OPENAI_BASE_URL || 'https://api.openai.com/v1')),
    apiKey: apiKey ?? (baseURL === undefined ? process.env.OPENAI_API_KEY : undefined),
  };
}

/** The key as a bearer token; nothing where there is none. */
export function bearer({ apiKey }: { readonly apiKey: string | undefined }): Readonly<Record<string, string>> {
  return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
}

/** The headers of one request: the key's, what the host adds, and of the client's own only what is allowed. */
export function requestHeaders(
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
  return Object.assign(sent, key, lowerCased(typeof headers === 'function' ? headers(client) : headers));
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
