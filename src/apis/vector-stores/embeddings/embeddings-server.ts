/** A client of a server with OpenAI's `/embeddings`: sends texts in batches, and retries failures that may pass. */

import { setTimeout as pause } from 'node:timers/promises';
import { estimatedTokens } from '../../../engine/indexing/token-estimate.ts';
import { readCauseCode } from '../../../ports/host/cause-code.ts';
import { endDispatcher } from '../../../ports/host/end-dispatcher.ts';
import {
  asSecret,
  checkOptions,
  isHeaderValue,
  isOneOf,
  milliseconds,
  type OptionCheck,
  positiveInteger,
} from '../../../ports/host/options-check.ts';
import { retryAfterMs } from '../../../ports/host/retry-after.ts';
import { urlBelow } from '../../../ports/host/url-below.ts';
import { type Embedder, EmbeddingError } from '../../../ports/vectors/embedder.ts';
import { objectIn } from '../../../protocol/json/json-text.ts';
import { undici } from '../../../protocol/json/packages.cjs';
import { isRecord, plainText } from '../../../protocol/record.ts';
import { masker, secretsOfHeader, secretsOfURL } from '../../../protocol/secrets/mask.ts';
import { isContextOverflow } from '../../../protocol/upstream-errors/context-overflow.ts';
import { readWhole, streamBytes } from '../../../streams/bytes.ts';
import { embeddingBatches } from './batches.ts';
import { EmbeddingFault, embeddingsIn, MAX_DIMENSIONS } from './read-embeddings.ts';

/** The server and the model that embed; `undefined` means omitted. */
export interface EmbeddingsOptions {
  /** Such as `http://localhost:8080/v1`; `/embeddings` is appended. */
  readonly baseURL: string;
  /** The model that embeds. Another one needs new vector stores: embeddings of two models cannot be compared. */
  readonly model: string;
  /** Sent as a bearer token. Default: none. */
  readonly apiKey?: string | undefined;
  /** Further headers of every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The length of the embeddings, for models that can shorten them. Default: the model's own. */
  readonly dimensions?: number | undefined;
  /** The encoding to request; both are read. `base64` is a third as long, and not every server knows it. Default: `float`. */
  readonly encodingFormat?: 'float' | 'base64' | undefined;
  /** The most texts of one request. Default: 64. */
  readonly batchTexts?: number | undefined;
  /** The most tokens of one request, estimated. Default: 32,768. */
  readonly batchTokens?: number | undefined;
  /** Attempts after the first, where the server is down, busy or limits the rate. Default: 3. */
  readonly retries?: number | undefined;
  /** Milliseconds for one attempt. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
}

const text: OptionCheck = (value) => (typeof value === 'string' && value !== '') || 'a text';
const HTTP = /^https?:$/;

const CHECKS: Readonly<Record<keyof EmbeddingsOptions, OptionCheck>> = {
  baseURL: asSecret(
    (value) =>
      (typeof value === 'string' && URL.canParse(value) && HTTP.test(new URL(value).protocol)) ||
      'an http or https URL',
  ),
  model: text,
  apiKey: asSecret((value) => isHeaderValue(value) || 'a text that an HTTP header can carry'),
  headers: asSecret(
    (value) =>
      (isRecord(value) && Object.values(value).every((each) => each === undefined || isHeaderValue(each))) ||
      'an object of texts that HTTP headers can carry',
  ),
  dimensions: positiveInteger,
  encodingFormat: isOneOf('float', 'base64'),
  batchTexts: positiveInteger,
  batchTokens: positiveInteger,
  retries: (value) => (Number.isInteger(value) && (value as number) >= 0) || 'a whole number from 0',
  timeoutMs: milliseconds,
};

/** Whether the value is an embedder of the host's own, and not the options of a server. */
export function isEmbedder(value: unknown): value is Embedder {
  return isRecord(value) && typeof value.embed === 'function';
}

/** Throws a `TypeError` for a bad option. */
export function embeddingsServer(owner: string, options: EmbeddingsOptions): Embedder {
  checkOptions(owner, options, CHECKS);
  for (const name of ['baseURL', 'model'] as const)
    if (options[name] === undefined) throw new TypeError(`${owner}: ${name} is required, got undefined`);
  return new EmbeddingsServer(options);
}

/** The first and the longest pause between two attempts, in milliseconds. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const CONNECT_MS = 10_000;
const ERROR_BYTES = 64 * 1024;
const MESSAGE_CHARACTERS = 300;
/** A number of an embedding in JSON has up to so many characters. */
const NUMBER_BYTES = 32;
/** Shorter secrets are words such as `1` or `on`. */
const SHORTEST_SECRET = 4;

class EmbeddingsServer implements Embedder {
  readonly name: string;
  private readonly options: EmbeddingsOptions;
  private readonly url: URL;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly mask: (text: string) => string;
  // Each attempt has a time of its own.
  private readonly agent = new (undici().Agent)({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_MS },
  });

  constructor(options: EmbeddingsOptions) {
    this.options = options;
    this.name = options.model;
    this.url = urlBelow(options.baseURL, 'embeddings');
    this.headers = requestHeaders(options);
    const secrets = [...Object.values(this.headers).flatMap(secretsOfHeader), ...secretsOfURL(options.baseURL)];
    // Clients see the server's own words in the errors of their files, and need not know where it is.
    const { href, origin, host, hostname } = this.url;
    this.mask = masker([...secrets, href, origin, host, hostname], SHORTEST_SECRET);
  }

  async embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const { batchTexts = 64, batchTokens = 32_768 } = this.options;
    const embeddings: Float32Array[] = [];
    for (const batch of embeddingBatches(texts, { texts: batchTexts, tokens: batchTokens }, estimatedTokens))
      embeddings.push(...(await this.embedFitting(batch, signal)));
    if (embeddings.some(({ length }) => length !== embeddings[0]?.length))
      throw new EmbeddingError('The embeddings server changed the length of its embeddings.', { retryable: false });
    return embeddings;
  }

  close(): Promise<void> {
    return endDispatcher(this.agent, 'destroy');
  }

  /** A batch that is too large is halved, and so is a text: its embedding is the mean of those of its halves. */
  private async embedFitting(
    texts: readonly string[],
    signal: AbortSignal,
    cuts = 0,
  ): Promise<readonly Float32Array[]> {
    try {
      return await this.embedBatch(texts, signal);
    } catch (error) {
      const [text = ''] = texts;
      if (!(error instanceof EmbeddingError) || !isTooLarge(error.message)) throw error;
      if (texts.length > 1) {
        const middle = Math.ceil(texts.length / 2);
        const first = await this.embedFitting(texts.slice(0, middle), signal);
        return [...first, ...(await this.embedFitting(texts.slice(middle), signal))];
      }
      if (cuts === MAX_CUTS || text.length < 2) throw error;
      const halves = splitText(text);
      const [one] = await this.embedFitting(halves.slice(0, 1), signal, cuts + 1);
      const [other] = await this.embedFitting(halves.slice(1), signal, cuts + 1);
      return one && other ? [meanVector(one, other)] : [];
    }
  }

  private async embedBatch(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const { retries = 3 } = this.options;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.attempt(texts, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ServerFailure)) throw error;
        if (!error.retryable || attempt >= retries) throw new EmbeddingError(error.message, error);
        const wanted = error.afterMs ?? FIRST_PAUSE_MS * 2 ** attempt * (0.5 + Math.random());
        await pause(Math.min(wanted, LONGEST_PAUSE_MS), undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  /** Throws `ServerFailure`, or the signal's reason. */
  private async attempt(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const { timeoutMs = 60_000 } = this.options;
    signal.throwIfAborted();
    const controller = new AbortController();
    const follow = () => controller.abort(signal.reason);
    signal.addEventListener('abort', follow, { once: true });
    const late = new ServerFailure(`did not answer within ${timeoutMs} ms`, { retryable: true });
    const timer = setTimeout(() => controller.abort(late), timeoutMs);
    try {
      return await this.exchange(texts, controller.signal);
    } catch (cause) {
      controller.signal.throwIfAborted();
      throw cause instanceof ServerFailure ? cause : toServerFailure(cause);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', follow);
    }
  }

  private async exchange(input: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]> {
    const { model, dimensions, encodingFormat = 'float' } = this.options;
    const { origin, pathname, search } = this.url;
    const body = JSON.stringify({ model, input, encoding_format: encodingFormat, dimensions });
    const headers = { 'content-type': 'application/json', accept: 'application/json', ...this.headers };
    const path = `${pathname}${search}`;
    // Redirects are not followed: the key and the texts would go elsewhere.
    const answer = await this.agent.request({ origin, path, method: 'POST', body, headers, signal });
    const bytes = streamBytes(answer.body);
    if (answer.statusCode !== 200) throw this.refused(answer, await readWhole(bytes, ERROR_BYTES).catch(() => ''));
    const most = ERROR_BYTES + input.length * (dimensions ?? MAX_DIMENSIONS) * NUMBER_BYTES;
    return embeddingsIn(await readWhole(bytes, most), input.length);
  }

  private refused({ statusCode: status, headers }: Answer, text: string): ServerFailure {
    // llama.cpp answers with 500, although the same text is always too large.
    const retryable = status === 408 || status === 429 || (status >= 500 && !isTooLarge(text));
    const afterMs = retryable ? retryAfterMs(headers) : undefined;
    return new ServerFailure(`answered with the status ${status}${this.messageIn(text)}`, { retryable, afterMs });
  }

  /** The server's error message, on one line. */
  private messageIn(text: string): string {
    const { error, message = error } = objectIn(text) ?? {};
    const reason = this.mask(plainText(isRecord(error) ? error.message : message)).slice(0, MESSAGE_CHARACTERS);
    return reason.trim() === '' ? '' : `: ${reason.replace(/\s+/g, ' ').trim()}`;
  }
}

interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** How often a text is cut in two: into 16 pieces at most. */
const MAX_CUTS = 4;
const TOO_LARGE = /too large to process|too long|maximum (?:context|input) length|exceeds? (?:the )?(?:context|max)/i;

function isTooLarge(text: string): boolean {
  return TOO_LARGE.test(text) || isContextOverflow(undefined, undefined, text);
}

/** Cut at white space near the middle, if there is some, and never within a character. */
function splitText(text: string): readonly [string, string] {
  const middle = Math.floor(text.length / 2);
  const space = text.lastIndexOf(' ', middle);
  const cut = space > middle / 2 ? space : middle;
  const at = /[\ud800-\udbff]$/.test(text.slice(0, cut)) ? cut + 1 : cut;
  return [text.slice(0, at), text.slice(at)];
}

/** Of the same length as the embeddings are, which is 1 at most servers. */
function meanVector(one: Float32Array, other: Float32Array): Float32Array {
  const mean = one.map((value, at) => (value + (other[at] ?? 0)) / 2);
  const [length, wanted] = [mean, one].map((vector) =>
    Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)),
  );
  if (!length || !wanted) return mean;
  return mean.map((value) => (value * wanted) / length);
}

/** One attempt failed. */
class ServerFailure extends EmbeddingError {
  /** How long the server asks to wait before the next attempt, in milliseconds. */
  readonly afterMs: number | undefined;

  constructor(
    what: string,
    { afterMs, ...options }: ErrorOptions & { retryable: boolean; afterMs?: number | undefined },
  ) {
    super(`The embeddings server ${what}.`, options);
    this.afterMs = afterMs;
  }
}

/** Without the error's own message, which may contain the address. Another attempt would not mend a wrong or too large answer. */
function toServerFailure(cause: unknown): ServerFailure {
  if (cause instanceof EmbeddingFault) return new ServerFailure(cause.message, { retryable: false });
  if (isRecord(cause) && cause.code === 'upstream_error')
    return new ServerFailure('sent too large an answer', { retryable: false });
  const code = readCauseCode(cause);
  return new ServerFailure(`could not be reached${code === undefined ? '' : ` (${code})`}`, { retryable: true, cause });
}

function requestHeaders({ apiKey, headers = {} }: EmbeddingsOptions): Readonly<Record<string, string>> {
  const own = Object.entries(headers).filter(([, value]) => value !== undefined);
  const named = own.map(([name, value]) => [name.toLowerCase(), value]);
  return { ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}), ...Object.fromEntries(named) };
}
