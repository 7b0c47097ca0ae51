/** Sees to it that every request over streamable HTTP comes to an end, also where its event stream does not. */
import { randomUUID } from 'node:crypto';
import { isRecord } from '../../protocol/record.ts';
import { eventReader, type Fetch, isEventStream, tapped } from './http-pool.ts';

/** For notices, which the SDK would await for ever. */
const NOTICE_MS = 10_000;
/** For ending a session: a server that is gone must not keep its host from closing. */
const END_MS = 2_000;

type RequestId = string | number;

/** A request that was posted, over as many streams as its answer takes. */
interface Exchange {
  readonly id: RequestId;
  readonly controller: AbortController;
  /** Answered or given up: nothing more is expected of its streams. */
  over: boolean;
}

/**
 * Wraps the fetch of the SDK's transport, which by itself (1) leaves a request waiting for ever when its stream breaks,
 * (2) keeps the stream of a cancelled request open, and (3) reopens a stream whose request has failed.
 * `onBroken` is told when a stream broke that an answer was awaited from.
 */
export function answerStreams(fetch: Fetch, onBroken: () => void): Fetch {
  const open = new Map<RequestId, Exchange>();
  /** By the event that the SDK will resume after. */
  const resumable = new Map<string, Exchange>();

  async function post(exchange: Exchange, url: string | URL, init: RequestInit): Promise<Response> {
    const { signal } = exchange.controller;
    open.set(exchange.id, exchange);
    try {
      const response = await fetch(url, { ...init, signal });
      return answered(exchange, response);
    } catch (error) {
      finish(exchange);
      // Whoever cancelled it has gone; to the SDK it is a notice that was taken.
      if (signal.aborted) return new Response(null, { status: 202 });
      throw error;
    }
  }

  function answered(exchange: Exchange, response: Response): Response {
    if (response.ok && isEventStream(response)) return streamed(exchange, response);
    if (!response.ok || !response.body) finish(exchange);
    return tapped(response, {
      chunk: () => {},
      end() {
        finish(exchange);
        return undefined;
      },
    });
  }

  async function resume(exchange: Exchange, url: string | URL, init: RequestInit): Promise<Response> {
    if (exchange.over) return new Response(null, { status: 405 });
    const { signal } = exchange.controller;
    const response = await fetch(url, { ...init, signal }).catch(() => undefined);
    if (response?.ok && isEventStream(response)) return streamed(exchange, response);
    await response?.body?.cancel();
    return new Response(broken(exchange), { headers: { 'content-type': 'text/event-stream' } });
  }

  function streamed(exchange: Exchange, response: Response): Response {
    let lastEventId: string | undefined;
    let answer: 'result' | 'error' | undefined;
    const chunk = eventReader(({ id, data }) => {
      lastEventId = id ?? lastEventId;
      answer ??= answerTo(exchange.id, data);
      if (answer) finish(exchange);
    });
    return tapped(response, {
      chunk,
      end() {
        if (lastEventId === undefined) return exchange.over ? undefined : broken(exchange);
        // Only a result keeps the SDK from resuming.
        if (answer !== 'result') resumable.set(lastEventId, exchange);
        return undefined;
      },
    });
  }

  /** An answer in the server's stead, after whatever it left half written; its event id leads to a stream that is over. */
  function broken(exchange: Exchange): string {
    if (!exchange.over) onBroken();
    finish(exchange);
    const eventId = randomUUID();
    resumable.set(eventId, exchange);
    const error = { code: -32000, message: 'The connection broke before the answer came.' };
    return `\n\nid: ${eventId}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: exchange.id, error })}\n\n`;
  }

  function finish(exchange: Exchange): void {
    exchange.over = true;
    open.delete(exchange.id);
  }

  function giveUp(id: RequestId): void {
    const exchange = open.get(id);
    if (!exchange) return;
    finish(exchange);
    exchange.controller.abort();
  }

  function notify(url: string | URL, init: RequestInit, cancelled: RequestId | undefined): Promise<Response> {
    const sent = fetch(url, { ...init, signal: AbortSignal.timeout(init.method === 'DELETE' ? END_MS : NOTICE_MS) });
    if (cancelled !== undefined) giveUp(cancelled);
    return sent;
  }

  return function answerFetch(url, init = {}) {
    if (init.method === 'GET') {
      const exchange = takeFrom(resumable, new Headers(init.headers).get('last-event-id'));
      return exchange ? resume(exchange, url, init) : fetch(url, init);
    }
    const { request, cancelled } = messageOf(init.body);
    if (request === undefined) return notify(url, init, cancelled);
    return post({ id: request, controller: new AbortController(), over: false }, url, init);
  };
}

function takeFrom(resumable: Map<string, Exchange>, eventId: string | null): Exchange | undefined {
  if (eventId === null) return undefined;
  const exchange = resumable.get(eventId);
  resumable.delete(eventId);
  return exchange;
}

function messageOf(body: unknown): { readonly request?: RequestId; readonly cancelled?: RequestId } {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
  if (!isRecord(message)) return {};
  if (message.id !== undefined && message.method !== undefined) return { request: message.id as RequestId };
  if (message.method !== 'notifications/cancelled' || !isRecord(message.params)) return {};
  return { cancelled: message.params.requestId as RequestId };
}

/** What an event's data is to this request. */
function answerTo(id: RequestId, data: string): 'result' | 'error' | undefined {
  try {
    const message: unknown = JSON.parse(data);
    if (!isRecord(message) || message.id !== id || message.method !== undefined) return undefined;
    return message.result === undefined ? 'error' : 'result';
  } catch {
    return undefined;
  }
}
