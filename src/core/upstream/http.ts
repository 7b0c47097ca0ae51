/** Requests to a model server: one keep-alive pool, retries before the first byte, and deadlines. */

import { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import { ApiError } from '../errors.ts';
import { jsonIn } from '../json-text.ts';
import { upstreamError } from './upstream-error.ts';

const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504, 529]);
const BACKOFF_MS = 250;
/** A server that asks for a longer pause than this gets none: the client is told to come back instead. */
const LONGEST_PAUSE_MS = 10_000;
/** Bytes of an answer that is read whole: an error, a list of models, a completion that was not streamed. */
const WHOLE_BYTES = 32 * 1024 * 1024;

/** Where a model server is and how to talk to it. */
export interface HttpOptions {
  /** Such as `http://localhost:8000/v1`; its query, if any, goes with every request. */
  readonly baseURL: URL;
  /** Further attempts after a 429, 502, 503, 504, 529 or a connection that broke before it answered. */
  readonly retries: number;
  readonly connectTimeoutMs: number;
}

/** One request; `body` is JSON text. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly stop: Stop;
}

/** Ends a call with its event `abort`. Undici takes it in the place of an `AbortSignal`, which costs 5 µs more to make and to hear. */
export interface Stop extends EventEmitter {
  readonly aborted: boolean;
  readonly reason: unknown;
}

/** An answer with a good status. */
export interface HttpAnswer {
  readonly contentType: string;
  readonly body: Readable;
}

/** The connections to one model server. */
export interface HttpClient {
  /** Resolves with a good answer; throws `ApiError` for any other, or what the call was stopped with. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** Opens the pool; connections are made when they are needed. */
export function httpClient({ baseURL, retries, connectTimeoutMs }: HttpOptions): HttpClient {
  // The deadlines of a call are its own, kept by `watchdog`: undici's would not tell first byte from silence.
  const pool = new Pool(baseURL.origin, { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectTimeoutMs } });
  const prefix = baseURL.pathname.replace(/\/+$/, '');

  async function attempt(request: HttpRequest): Promise<HttpAnswer> {
    const { method, headers, body = null, stop } = request;
    const path = `${prefix}${request.path}${baseURL.search}`;
    const answer = await pool.request({ method, path, headers: { ...headers }, body, signal: stop });
    const contentType = String(answer.headers['content-type'] ?? '');
    if (answer.statusCode >= 200 && answer.statusCode < 300) return { contentType, body: answer.body };
    throw await refusal(answer.statusCode, answer.headers, answer.body);
  }

  return {
    async send(request) {
      for (let retry = 0; ; retry += 1) {
        try {
          return await attempt(request);
        } catch (error) {
          throwIfStopped(request);
          const pause = retry < retries ? pauseBefore(error, retry) : undefined;
          if (pause === undefined) throw unreachableAs(error);
          await rest(pause, request.stop);
          throwIfStopped(request);
        }
      }
    },
    close: () => (pool.closed ? Promise.resolve() : pool.close()),
  };
}

function throwIfStopped({ stop }: HttpRequest): void {
  if (stop.aborted) throw stop.reason;
}

/** Resolves after so many milliseconds, or when the call is stopped. */
function rest(ms: number, stop: Stop): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      stop.off('abort', settle);
      resolve();
    };
    const timer = setTimeout(settle, ms);
    stop.once('abort', settle);
  });
}

/** A refusal remembers what the server said about trying again. */
type Refusal = ApiError & {
  readonly answered?: number;
  readonly retryAfterMs?: number | undefined;
  readonly final?: boolean;
};

async function refusal(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Readable,
): Promise<Refusal> {
  const retryAfter = headers['retry-after'];
  const text = await readWhole(body);
  const passed = typeof retryAfter === 'string' ? { 'retry-after': retryAfter } : {};
  const error = upstreamError(status, jsonIn(text), passed);
  const final = headers['x-should-retry'] === 'false';
  return Object.assign(error, { answered: status, retryAfterMs: retryAfterMs(headers), final });
}

/** In milliseconds; `retry-after` holds seconds or a date. */
function retryAfterMs(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const exact = Number(headers['retry-after-ms']);
  if (headers['retry-after-ms'] !== undefined && exact >= 0) return exact;
  const value = headers['retry-after'];
  if (typeof value !== 'string') return undefined;
  const pause = /^\s*[\d.]+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(pause) ? undefined : Math.max(0, pause);
}

/** How long to wait before another attempt, or undefined where there must be none. */
function pauseBefore(error: unknown, retry: number): number | undefined {
  const backoff = BACKOFF_MS * 2 ** retry * (0.75 + Math.random() / 2);
  if (!(error instanceof ApiError)) return backoff;
  const { answered = 0, retryAfterMs = backoff, final } = error as Refusal;
  return RETRIED.has(answered) && !final && retryAfterMs <= LONGEST_PAUSE_MS ? retryAfterMs : undefined;
}

function unreachableAs(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('upstream_unavailable', 'The model server could not be reached.', { cause: error });
}

/** The text of a whole body. */
export async function readWhole(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > WHOLE_BYTES) throw new ApiError('upstream_error', 'The model server sent too large an answer.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Watches over one call: aborts it when the caller does, or when it is silent for too long. */
export interface Watchdog {
  readonly call: Stop;
  /** Something arrived: from now on silence is measured by the idle limit. */
  heard(): void;
  /** All has been heard: the call may end by itself. */
  finish(): void;
  /** Ends the watch, and the call unless it has finished. */
  stop(): void;
}

/** Starts the watch; the first limit holds until the first `heard`. Both are in milliseconds. */
export function watchdog(caller: AbortSignal, firstByteMs: number, idleMs: number): Watchdog {
  const call = Object.assign(new EventEmitter(), { aborted: false, reason: undefined as unknown });
  const abort = (reason: unknown) => {
    if (call.aborted) return;
    call.aborted = true;
    call.reason = reason;
    call.emit('abort');
  };
  const follow = () => abort(caller.reason);
  const expire = () => abort(new ApiError('upstream_timeout', 'The model server fell silent.'));
  let timer = setTimeout(expire, firstByteMs);
  let first = true;
  let finished = false;
  if (caller.aborted) follow();
  caller.addEventListener('abort', follow, { once: true });

  return {
    call,
    heard() {
      if (!first) return void timer.refresh();
      first = false;
      clearTimeout(timer);
      timer = setTimeout(expire, idleMs);
    },
    finish() {
      finished = true;
    },
    stop() {
      clearTimeout(timer);
      caller.removeEventListener('abort', follow);
      // What has finished gives its connection back instead.
      if (!finished) abort(undefined);
    },
  };
}
