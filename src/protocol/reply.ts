/** The result of a core handler, so that any framework can write it and a test needs no socket. */
import type { ApiError } from './errors.ts';

/** An HTTP answer: a finished body, or whole SSE frames as they come (each string holds only complete frames). */
export interface Reply {
  /** The HTTP status. */
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** A whole body, or an event stream. */
  readonly body: string | AsyncIterable<string>;
  /** The content of a file, in the place of `body`, which is then empty; `content-length` is among the headers. */
  readonly bytes?: AsyncIterable<Uint8Array> | undefined;
}

/** Headers of every event stream: no proxy may buffer, compress or cache it. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** Headers of every JSON answer. */
export const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

/** A JSON answer that is not yet serialized, so that a dialect can rewrite it. */
export interface JsonReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly json: unknown;
}

/** A JSON answer. */
export function jsonReply(json: unknown, status = 200): JsonReply {
  return { status, headers: JSON_HEADERS, json };
}

/** The answer with its JSON serialized. */
export function serializedReply(reply: Reply | JsonReply): Reply {
  if (!('json' in reply)) return reply;
  const { status, headers, json } = reply;
  return { status, headers, body: JSON.stringify(json) };
}

/** An event stream. */
export function streamReply(body: AsyncIterable<string>): Reply {
  return { status: 200, headers: STREAM_HEADERS, body };
}

/** The same reply, with these headers too if there are any. */
export function withHeaders<Given extends Reply | JsonReply>(reply: Given, headers?: Reply['headers']): Given {
  if (!headers) return reply;
  return { ...reply, headers: Object.assign({}, headers, reply.headers) };
}

/** An error in OpenAI's envelope, with its headers. */
export function errorReply(error: ApiError): JsonReply {
  const reply = jsonReply({ error: error.body }, error.status);
  return { ...reply, headers: { ...reply.headers, ...error.headers } };
}

/** A time as resources hold it, in whole seconds since the epoch: the present one without `ms`. */
export function unixSeconds(ms: number = Date.now()): number {
  return Math.floor(ms / 1000);
}
