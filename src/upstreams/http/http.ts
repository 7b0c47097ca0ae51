/** Requests to a model server: one keep-alive pool, and retries before the first byte. */

import type { Readable } from 'node:stream';
import type { Dispatcher, Pool } from 'undici';
import { endDispatcher } from '../../ports/host/end-dispatcher.ts';
import { errorCodeName } from '../../ports/host/error-warning.ts';
import { retryAfterMs } from '../../ports/host/retry-after.ts';
import type { OnAttempt } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { undici } from '../../protocol/json/packages.cjs';
import { isRecord } from '../../protocol/record.ts';
import { CONTEXT_OVERFLOW } from '../../protocol/upstream-errors/context-overflow.ts';
import { upstreamError } from '../../protocol/upstream-errors/upstream-error.ts';
import { readWhole } from '../../streams/bytes.ts';
import { type AdviceSettings, keyAdvice } from './advice.ts';
import { basePath } from './base-path.ts';
import { decompressed } from './connection/decompressed.ts';
import { type Answered, dispatch } from './connection/dispatch.ts';
import { fetchAnswer } from './connection/fetch-answer.ts';
import { backoffMs, refusalPauseMs } from './connection/retry-pause.ts';
import type { Stop } from './connection/watchdog.ts';

/** The address of a model server and its connection settings. */
export interface HttpOptions extends AdviceSettings {
  /** Such as `http://localhost:8000/v1`; its query, if any, is sent with every request. */
  readonly baseURL: URL;
  /** Further attempts after a 429, 502, 503, 504, 529 or a connection that broke before the response. */
  readonly retries: number;
  readonly connectTimeoutMs: number;
}

/** One request. */
interface HttpRequest {
  readonly method: string;
  readonly path: string;
  /** Whether the path stands beside that of the API's version, as `/tokenize` does beside `/v1`. */
  readonly isBeside?: boolean | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Text or bytes; a stream is sent once. */
  readonly body?: string | Uint8Array | Readable | undefined;
  readonly stop: Stop;
  /** The most attempts after the first. Default: as the client is set. */
  readonly retries?: number | undefined;
  /** Receives each attempt before it is made. */
  readonly onAttempt?: OnAttempt | undefined;
}

/** The connections to one model server. */
export interface HttpClient {
  /** Resolves with a successful response; throws `ApiError` for any other, or the abort reason of the call. */
  send(request: HttpRequest): Promise<Answered>;
  close(): Promise<void>;
}

type Send = (options: Dispatcher.DispatchOptions, stop: Stop) => Promise<Answered>;

/** Bun puts a package of its own in the place of undici. */
function senderFor(pool: Pool, origin: string): Send {
  if (typeof pool.dispatch === 'function')
    return async (options, stop) => {
      const answer = await dispatch(pool, options, stop);
      return answer.headers['content-encoding'] === undefined ? answer : decompressed(answer);
    };
  return (options, stop) => fetchAnswer(origin, options, stop);
}

/** Opens the pool; connections are made on demand. */
export function httpClient(options: HttpOptions): HttpClient {
  const { baseURL, retries, connectTimeoutMs } = options;
  const { Pool } = undici();
  // `watchdog` keeps the deadlines of a call: undici's do not distinguish the first byte from later gaps.
  const pool = new Pool(baseURL.origin, { headersTimeout: 0, bodyTimeout: 0, connect: { timeout: connectTimeoutMs } });
  const prefix = basePath(baseURL);
  const sendOnce = senderFor(pool, baseURL.origin);

  function attempt(request: HttpRequest): Promise<Answered> {
    const { method, headers, body = null, stop } = request;
    const place = request.isBeside ? prefix.replace(/\/v\d+$/, '') : prefix;
    const path = `${place}${request.path}`;
    const target =
      baseURL.search === '' || !path.includes('?', place.length)
        ? `${path}${baseURL.search}`
        : `${withoutParameters(path, baseURL.searchParams)}&${baseURL.search.slice(1)}`;
    // The cast: undici takes any method.
    return sendOnce({ method: method as Dispatcher.HttpMethod, path: target, headers: { ...headers }, body }, stop);
  }

  return {
    async send(request) {
      const facts: { host: string; after?: string } = { host: baseURL.host };
      for (let retry = 0; ; retry += 1) {
        request.onAttempt?.({ attempt: retry + 1, ...facts });
        try {
          const answer = await attempt(request);
          if (answer.status >= 200 && answer.status < 300) return answer;
          if (answer.status >= 300 && answer.status < 400) throw redirectError(answer, baseURL);
          throw await readRefusal(answer, options, request.path);
        } catch (error) {
          const { stop } = request;
          if (stop.aborted) throw stop.reason;
          const pause = retry < Math.min(retries, request.retries ?? retries) ? retryPause(error, retry) : undefined;
          const failure =
            error instanceof ApiError
              ? error
              : new ApiError('upstream_unavailable', 'The model server could not be reached.', {
                  cause: error,
                  // The origin only: a path or a query may hold a secret.
                  advice: `Is the model server running at ${baseURL.origin}? If it is elsewhere, set baseURL (or ${options.variables ?? 'OPENAI'}_BASE_URL) to its address.`,
                });
          if (pause === undefined) throw failure;
          facts.after = errorCodeName(failure);
          await sleep(pause, stop);
          if (stop.aborted) throw stop.reason;
        }
      }
    },
    close: () => endDispatcher(pool, 'close'),
  };
}

/** The path without the parameters that the host has named itself: some servers take the first of two, some the last. */
function withoutParameters(path: string, named: URLSearchParams): string {
  const start = path.indexOf('?');
  const parts = path
    .slice(start + 1)
    .split('&')
    .filter((part) => [...new URLSearchParams(part).keys()].every((name) => !named.has(name)));
  return `${path.slice(0, start)}?${parts.join('&')}`;
}

/** Resolves after so many milliseconds, or when the call is stopped. */
function sleep(ms: number, stop: Stop): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      stop.running = undefined;
      resolve();
    };
    const timer = setTimeout(settle, ms);
    stop.running = { stopped: settle };
  });
}

/** Keeps the server's retry headers on its refusal. */
export type Refusal = ApiError & {
  readonly answered?: number;
  /** The JSON of the answer, or its text; not for anybody but the upstream, since it may hold secrets. */
  readonly said?: unknown;
  readonly retryAfterMs?: number | undefined;
  readonly final?: boolean;
};

async function readRefusal({ status, headers, body }: Answered, options: HttpOptions, path: string): Promise<Refusal> {
  const retryAfter = headers['retry-after'];
  const text = await readWhole(body);
  const passed = typeof retryAfter === 'string' ? { 'retry-after': retryAfter } : {};
  const answer = jsonIn(text);
  // An unknown path is not answered with an error of the API, and the API may be below `/v1`: for the host only.
  const isApiError = isRecord(answer) && isRecord(answer.error);
  const place = `${basePath(options.baseURL)}${path.split('?', 1)[0]}`;
  const hint =
    status === 404 && !isApiError && !/\/v\d/.test(options.baseURL.pathname)
      ? new Error(`The model server has no path ${place}: does baseURL lack '/v1' at its end?`)
      : undefined;
  const advice = status === 401 || status === 403 ? keyAdvice(options) : undefined;
  const error = upstreamError(status, text, passed, { cause: hint, advice });
  const final = headers['x-should-retry'] === 'false' || error.code === CONTEXT_OVERFLOW;
  const facts = { answered: status, retryAfterMs: retryAfterMs(headers), final };
  return Object.defineProperty(Object.assign(error, facts), 'said', { value: answer ?? text, enumerable: false });
}

/** Redirects are not followed: the key and the prompt would go to a server that the host has not named. */
function redirectError({ status, headers, body }: Answered, baseURL: URL): ApiError {
  body.close();
  const location = String(headers.location ?? '');
  const to = URL.canParse(location, baseURL.href) ? new URL(location, baseURL).origin : undefined;
  const where = to === baseURL.origin ? 'another path of its own' : (to ?? 'no URL');
  const cause = new Error(
    `The model server redirects to ${where} (status ${status}): baseURL must be where its API is.`,
  );
  return new ApiError('upstream_error', 'The model server redirected the request, which is not followed.', { cause });
}

/** How long to wait before another attempt, or undefined if there must be none. */
function retryPause(error: unknown, retry: number): number | undefined {
  if (!(error instanceof ApiError)) return backoffMs(retry);
  const { answered, retryAfterMs: askedMs, final } = error as Refusal;
  return final ? undefined : refusalPauseMs(answered, retry, askedMs);
}
