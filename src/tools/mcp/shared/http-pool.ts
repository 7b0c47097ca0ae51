/** The sockets to one MCP server: a limited pool that closes every socket. */

import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { RequestInit as PoolInit, RequestInfo } from 'undici';
import { endDispatcher } from '../../../ports/host/end-dispatcher.ts';
import { undici } from '../../../protocol/json/packages.cjs';
import { eventLines, isEventStreamType } from '../../../streams/event-lines.ts';
import { boundedRetries } from '../../../streams/retry-lines.ts';
import { bodyMeter, eventMeter } from '../../egress/message-meter.ts';
import type { Fetch } from './client/mcp-client.ts';

/** A pool for one server. */
export interface HttpPool {
  readonly fetch: Fetch;
  /** Aborts open requests. */
  close(): Promise<void>;
}

/** Each call in flight holds a socket; further calls wait for one. */
const MAX_SOCKETS = 128;
/** The largest message of a server, in bytes; the SDK's own limit for stdio. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024;

/** Creates the pool; sockets are opened on demand. */
export function httpPool(connectTimeoutMs: number): HttpPool {
  // No response timeouts: calls have deadlines of their own, and a server's event stream may be idle for hours.
  const connect = { timeout: connectTimeoutMs };
  const { Agent, fetch: poolFetch } = undici();
  const dispatcher = new Agent({ connections: MAX_SOCKETS, headersTimeout: 0, bodyTimeout: 0, connect });
  let closed = false;

  return {
    async fetch(url, init = {}) {
      // The SDK may try to reopen a stream shortly after its transport was closed; this status ends such attempts.
      if (closed) return new Response(null, { status: 405 });
      // `manual`, because headers with secrets must not follow a redirect to another origin. The casts: the pool's types
      // and Node's own describe the same classes.
      const options = { redirect: 'manual', ...init, dispatcher } as PoolInit;
      return withMessageLimit((await poolFetch(url as RequestInfo, options)) as unknown as Response);
    },
    close() {
      closed = true;
      return endDispatcher(dispatcher, 'destroy');
    },
  };
}

/** Whether a response is a stream of events. */
export function isEventStream(response: Response): boolean {
  return isEventStreamType(response.headers.get('content-type'));
}

/** Observes a body as it passes. */
interface BodyTap {
  /** Throws to cut the body off. */
  chunk(bytes: Uint8Array): void;
  /** Returns the replacement of a chunk; by default the chunk itself. */
  rewrite?(bytes: Uint8Array): Uint8Array;
  /** Returns text to append; by default a body that broke off stays broken. */
  end?(): string | undefined;
}

/** The same response, with its body observed by the tap. */
export function tapBody(response: Response, tap: BodyTap): Response {
  if (!response.body) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let chunk: Uint8Array | undefined;
      try {
        ({ value: chunk } = await reader.read());
        if (chunk) tap.chunk(chunk);
      } catch (error) {
        await reader.cancel().catch(() => {});
        if (!tap.end) throw error;
        chunk = undefined;
      }
      if (chunk) return controller.enqueue(tap.rewrite?.(chunk) ?? chunk);
      const last = tap.end?.();
      if (last !== undefined) controller.enqueue(Buffer.from(last));
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const { status, headers } = response;
  return new Response(body, { status, headers: [...headers] });
}

/** Limits the size of one message, in a stream of events or as a whole body. */
function withMessageLimit(response: Response): Response {
  const measure = isEventStream(response) ? eventMeter() : bodyMeter();
  return tapBody(response, {
    chunk(chunk) {
      if (measure(chunk).largest > MAX_MESSAGE_BYTES)
        throw new Error(`The server sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`);
    },
  });
}

/** The same fetch; the lines of event streams are normalised, and their servers set no rate at which they are opened again. */
export function withEventLines(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!isEventStream(response)) return response;
    const decoder = new TextDecoder();
    const normalizeLines = eventLines();
    const boundRetries = boundedRetries();
    const rewrite = (bytes: Uint8Array) =>
      Buffer.from(boundRetries(normalizeLines(decoder.decode(bytes, { stream: true }))));
    return tapBody(response, { chunk: () => {}, rewrite });
  };
}

/** Parses events from bytes as they pass. */
export function eventReader(onEvent: (event: EventSourceMessage) => void): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent });
  return (chunk) => parser.feed(decoder.decode(chunk, { stream: true }));
}
