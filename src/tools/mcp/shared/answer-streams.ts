/** Ensures that every request over streamable HTTP ends, even if its event stream does not. */
import { randomUUID } from 'node:crypto';
import { objectIn } from '../../../protocol/json/json-text.ts';
import { isRecord, plainText } from '../../../protocol/record.ts';
import type { Fetch } from './client/mcp-client.ts';
import { eventReader, isEventStream, tapBody } from './http-pool.ts';

/** For notifications, which the SDK would await for ever. */
const MAX_NOTICE_MS = 10_000;
/** For ending a session: an unreachable server must not keep its host from closing. */
const MAX_END_MS = 2_000;
/** More than calls that are in flight at a time. */
const MAX_RESUMABLE = 256;

type RequestId = string | number;

/** A posted request, over all the streams of its answer. */
interface Exchange {
  readonly id: RequestId;
  readonly controller: AbortController;
  /** Stops listening to the signal of the request. */
  readonly release: () => void;
  /** Answered or abandoned: its streams are no longer needed. */
  isFinished: boolean;
}

/**
 * Wraps the fetch of the SDK's transport, which by itself (1) leaves a request waiting for ever when its stream breaks,
 * (2) keeps the stream of a cancelled request open, and (3) reopens a stream whose request has failed.
 * Calls `onBroken` when a stream breaks before its awaited answer.
 */
export function answerStreams(fetch: Fetch, onBroken: () => void): Fetch {
  const streams = new AnswerStreams(fetch, onBroken);
  return (url, init = {}) => streams.fetch(url, init);
}

class AnswerStreams {
  private readonly send: Fetch;
  private readonly onBroken: () => void;
  private readonly open = new Map<RequestId, Exchange>();
  /** Keyed by the event that the SDK will resume after. */
  private readonly resumable = new Map<string, Exchange>();

  constructor(send: Fetch, onBroken: () => void) {
    this.send = send;
    this.onBroken = onBroken;
  }

  fetch(url: string | URL, init: RequestInit): Promise<Response> {
    if (init.method === 'GET') {
      const eventId = new Headers(init.headers).get('last-event-id');
      const exchange = eventId === null ? undefined : this.resumable.get(eventId);
      if (eventId !== null) this.resumable.delete(eventId);
      return exchange ? this.resume(exchange, url, init) : this.send(url, init);
    }
    const { request, cancelled, isSubscription } = readPosted(init.body);
    // Its stream has no answer to wait for.
    if (isSubscription) return this.send(url, init);
    if (request === undefined) return this.notify(url, init, cancelled);
    // It was given up while the host's OAuth provider was asked.
    if (init.signal?.aborted) return Promise.reject(init.signal.reason);
    return this.post(this.exchangeFor(request, init.signal), url, init);
  }

  /** In the modern era, a request is cancelled by ending it. */
  private exchangeFor(id: RequestId, signal: AbortSignal | null | undefined): Exchange {
    const onAbort = () => this.cancel(id);
    signal?.addEventListener('abort', onAbort, { once: true });
    const release = () => signal?.removeEventListener('abort', onAbort);
    return { id, controller: new AbortController(), release, isFinished: false };
  }

  private async post(exchange: Exchange, url: string | URL, init: RequestInit): Promise<Response> {
    const { signal } = exchange.controller;
    this.open.set(exchange.id, exchange);
    try {
      const response = await this.send(url, { ...init, signal });
      return this.watchAnswer(exchange, response);
    } catch (error) {
      this.finish(exchange);
      // The caller that cancelled it has gone; to the SDK it is an accepted notification.
      if (signal.aborted) return new Response(null, { status: 202 });
      throw error;
    }
  }

  private watchAnswer(exchange: Exchange, response: Response): Response {
    if (response.ok && isEventStream(response)) return this.watchStream(exchange, response);
    if (!response.ok || !response.body) this.finish(exchange);
    return tapBody(response, {
      chunk: () => {},
      end: () => {
        this.finish(exchange);
        return undefined;
      },
    });
  }

  private async resume(exchange: Exchange, url: string | URL, init: RequestInit): Promise<Response> {
    if (exchange.isFinished) return new Response(null, { status: 405 });
    const { signal } = exchange.controller;
    const response = await this.send(url, { ...init, signal }).catch(() => undefined);
    if (response?.ok && isEventStream(response)) return this.watchStream(exchange, response);
    await response?.body?.cancel();
    return new Response(this.brokenAnswer(exchange), { headers: { 'content-type': 'text/event-stream' } });
  }

  private watchStream(exchange: Exchange, response: Response): Response {
    let lastEventId: string | undefined;
    let answer: 'result' | 'error' | undefined;
    const chunk = eventReader(({ id, data }) => {
      lastEventId = id ?? lastEventId;
      answer ??= answerKind(exchange.id, data);
      if (answer) this.finish(exchange);
    });
    const end = () => {
      if (lastEventId === undefined) return exchange.isFinished ? undefined : this.brokenAnswer(exchange);
      // Only a result keeps the SDK from resuming.
      if (answer !== 'result') this.rememberResumable(lastEventId, exchange);
      return undefined;
    };
    return tapBody(response, { chunk, end });
  }

  /** An answer in place of the server's, after any half-written event; resuming after its event id reaches an ended stream. */
  private brokenAnswer(exchange: Exchange): string {
    if (!exchange.isFinished) this.onBroken();
    this.finish(exchange);
    const eventId = randomUUID();
    this.rememberResumable(eventId, exchange);
    const error = { code: -32000, message: 'The connection broke before the answer came.' };
    return `\n\nid: ${eventId}\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: exchange.id, error })}\n\n`;
  }

  /** The SDK may never resume some of them. */
  private rememberResumable(eventId: string, exchange: Exchange): void {
    const [oldest] = this.resumable.keys();
    if (this.resumable.size === MAX_RESUMABLE && oldest !== undefined) this.resumable.delete(oldest);
    this.resumable.set(eventId, exchange);
  }

  private finish(exchange: Exchange): void {
    exchange.isFinished = true;
    exchange.release();
    this.open.delete(exchange.id);
  }

  private cancel(id: RequestId): void {
    const exchange = this.open.get(id);
    if (!exchange) return;
    this.finish(exchange);
    exchange.controller.abort();
  }

  private notify(url: string | URL, init: RequestInit, cancelled: RequestId | undefined): Promise<Response> {
    const timeoutMs = init.method === 'DELETE' ? MAX_END_MS : MAX_NOTICE_MS;
    const sending = this.send(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
    if (cancelled !== undefined) this.cancel(cancelled);
    return sending;
  }
}

/** What is posted: a request, or a notification that may cancel one. */
interface Posted {
  readonly request?: RequestId;
  /** Whether its stream is one of changes. */
  readonly isSubscription?: boolean;
  readonly cancelled?: RequestId;
}

function readPosted(body: unknown): Posted {
  // Another body may be a form for an authorization server.
  const message = typeof body === 'string' ? objectIn(body) : undefined;
  if (!message) return {};
  if (message.id !== undefined && message.method !== undefined)
    return { request: message.id as RequestId, isSubscription: message.method === 'subscriptions/listen' };
  if (message.method !== 'notifications/cancelled' || !isRecord(message.params)) return {};
  return { cancelled: message.params.requestId as RequestId };
}

/** The kind of an event's data for this request; undefined, too, for a malformed answer, which the SDK would leave out. */
function answerKind(id: RequestId, data: string): 'result' | 'error' | undefined {
  const message = objectIn(data);
  // The SDK takes the number as text for the number.
  if (!message || plainText(message.id) !== String(id) || message.method !== undefined) return undefined;
  const { jsonrpc, result, error } = message;
  if (jsonrpc !== '2.0') return undefined;
  if (isRecord(result)) return 'result';
  return isRecord(error) && Number.isSafeInteger(error.code) && typeof error.message === 'string' ? 'error' : undefined;
}
