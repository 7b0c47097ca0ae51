/** The options of `chatCompletionsUpstream`, checked once. */
import { checkOptions, positiveInteger } from '../options-check.ts';
import type { BodyOptions } from './chat-body.ts';

/** Headers for every request, or worked out from the client's own, for a key per tenant. */
export type UpstreamHeaders =
  | Readonly<Record<string, string>>
  | ((clientHeaders: Headers) => Readonly<Record<string, string>>);

/** Where the model server is, and how it likes its requests. `undefined` means omitted. */
export interface ChatCompletionsOptions {
  /** Up to and including `/v1`. Default: `OPENAI_BASE_URL`, or OpenAI itself. */
  readonly baseURL?: string | undefined;
  /**
   * Sent as a bearer token; none is sent where there is none. Default: `OPENAI_API_KEY`, but only where `baseURL` is not
   * given either: a key belongs to its server, and must not go to another one by omission.
   */
  readonly apiKey?: string | undefined;
  /** Further headers. */
  readonly headers?: UpstreamHeaders | undefined;
  /** Names of client headers that are passed on. Default: `traceparent`, `tracestate`, `x-request-id`. */
  readonly forwardHeaders?: readonly string[] | undefined;
  /** `merge` writes one leading system message, for templates that allow no other. Default: `keep`. */
  readonly systemMessages?: 'keep' | 'merge' | undefined;
  /** `keep` sends the developer role as it is. Default: `system`, which every server knows. */
  readonly developerRole?: 'keep' | 'system' | undefined;
  /** Whether reasoning goes back with the calls it led to. Default: true; some servers refuse the field. */
  readonly reasoningReplay?: boolean | undefined;
  /** Whether `<think>` at the start of the text is read as reasoning. Default: true. */
  readonly thinkTags?: boolean | undefined;
  /** The field for `max_output_tokens`. Default: `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** Attempts after the first, made only before the first byte. Default: 2. */
  readonly retries?: number | undefined;
  /** Milliseconds to connect. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
}

/** The options with every default filled in. */
export interface ChatSettings extends BodyOptions {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  readonly headers: UpstreamHeaders;
  readonly forwardHeaders: readonly string[];
  readonly thinkTags: boolean;
  readonly retries: number;
  readonly connectTimeoutMs: number;
}

const NAME = 'chatCompletionsUpstream';
const FORWARDED = ['traceparent', 'tracestate', 'x-request-id'];

const boolean = (value: unknown) => typeof value === 'boolean' || 'true or false';
const string = (value: unknown) => typeof value === 'string' || 'a string';
const oneOf =
  (...values: readonly string[]) =>
  (value: unknown) =>
    values.includes(value as string) || `one of ${values.map((known) => `'${known}'`).join(', ')}`;

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function chatSettings(options: ChatCompletionsOptions): ChatSettings {
  checkOptions(NAME, options, {
    baseURL: string,
    apiKey: string,
    headers: (value) =>
      (typeof value === 'object' && value !== null) || typeof value === 'function' || 'an object or a function',
    forwardHeaders: (value) =>
      (Array.isArray(value) && value.every((name) => typeof name === 'string')) || 'a list of header names',
    systemMessages: oneOf('keep', 'merge'),
    developerRole: oneOf('keep', 'system'),
    reasoningReplay: boolean,
    thinkTags: boolean,
    maxTokensField: oneOf('max_tokens', 'max_completion_tokens'),
    retries: (value) => (Number.isInteger(value) && (value as number) >= 0) || 'a whole number from 0',
    connectTimeoutMs: positiveInteger,
  });
  return {
    baseURL: serverURL(options.baseURL ?? (process.env.OPENAI_BASE_URL || 'https://api.openai.com/v1')),
    apiKey: options.apiKey ?? (options.baseURL === undefined ? process.env.OPENAI_API_KEY : undefined),
    headers: options.headers ?? {},
    forwardHeaders: options.forwardHeaders ?? FORWARDED,
    systemMessages: options.systemMessages ?? 'keep',
    developerRole: options.developerRole ?? 'system',
    reasoningReplay: options.reasoningReplay ?? true,
    thinkTags: options.thinkTags ?? true,
    maxTokensField: options.maxTokensField ?? 'max_tokens',
    retries: options.retries ?? 2,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
  };
}

function serverURL(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new TypeError(`${NAME}: baseURL must be an http(s) URL, got '${text}'`);
  if (url.username || url.password)
    throw new TypeError(`${NAME}: baseURL must hold no credentials; use apiKey or headers`);
  return url;
}

/** The headers of one request: the key, what the host adds, and of the client's own only what is allowed. */
export function requestHeaders(settings: ChatSettings, client: Headers): Readonly<Record<string, string>> {
  const { apiKey, headers, forwardHeaders } = settings;
  const forwarded = forwardHeaders.flatMap((name) => {
    const value = client.get(name);
    return value === null ? [] : [[name.toLowerCase(), value] as const];
  });
  return {
    ...Object.fromEntries(forwarded),
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
    ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
    ...lowerCased(typeof headers === 'function' ? headers(client) : headers),
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
