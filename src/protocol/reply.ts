/** What a core handler returns, so that any framework can write it and a test needs no socket. */
import type { ApiError } from './errors.ts';

/** An HTTP answer: a finished body, or whole SSE frames as they come (each string holds only complete frames). */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string>;
  /** The names of the tools that the server runs in this turn, for dialects that tell them from the client's. */
  readonly ownedTools?: { has(name: string): boolean };
}

/** Headers of every event stream: no proxy may hold it back, compress it or cache it. */
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** A JSON answer. */
export function jsonReply(body: unknown, status = 200): Reply {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}

/** An event stream. */
export function streamReply(body: AsyncIterable<string>): Reply {
  return { status: 200, headers: STREAM_HEADERS, body };
}

/** An error in OpenAI's envelope, with the headers that go with it. */
export function errorReply(error: ApiError): Reply {
  const reply = jsonReply({ error: error.body }, error.status);
  return { ...reply, headers: { ...reply.headers, ...error.headers } };
}
