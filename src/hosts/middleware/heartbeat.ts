/** Writes heartbeats into another handler's event stream, so that proxies and clients do not time out. */

import type { ServerResponse } from 'node:http';
import { chunkFrame } from '../../apis/chat-completions/answer/completion.ts';
import { openAfter } from '../../apis/endpoint/prepare.ts';
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';
import { anthropicError } from '../../protocol/anthropic/envelope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { requestIdFrom } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/record.ts';
import { STREAM_HEADERS } from '../../protocol/reply.ts';
import { upstreamError } from '../../protocol/upstream-errors/upstream-error.ts';
import {
  type HeartbeatOptions,
  heartbeatSettings,
  millisecondsOrNever,
} from '../../server/options/heartbeat-options.ts';
import { DONE_FRAME, HEARTBEAT_FRAME, numberedFrame } from '../../streams/sse-frames.ts';
import { EarlyAnswer, type OtherAnswer } from '../node/early-answer.ts';
import { isEventStream, type Layer, onHead } from '../node/event-stream.ts';
import { eventTail } from '../node/event-tail.ts';
import { type NodeRequest, onClose, setTurnContext, turnContext } from '../node/node-request.ts';
import { type ApiName, detectApi, isMessagesPath } from './api.ts';
import { type NodeMiddleware, originalUrl } from './as-middleware.ts';

const PING_FRAME = 'event: ping\ndata: {"type":"ping"}\n\n';

/** How the idle time of another handler's event stream is filled, the time before it answers included. */
export interface HeartbeatMiddlewareOptions extends HeartbeatOptions {
  /**
   * Milliseconds after which the stream is opened although the handler has not answered, where a parser has read a body
   * with `stream: true`; after one interval where that is shorter. A refusal that comes later is an error event of the
   * API. `Infinity` waits for the handler. Default: 5,000.
   */
  readonly openAfterMs?: number | undefined;
}

/**
 * Writes `: heartbeat` after `intervalMs` (15,000) without data, only between whole events of a plain event stream
 * of undeclared length.
 * Only our own routers can number an event, so in another handler's stream `comment` and `keepalive` are both
 * comments, and `ping` is a `ping` event without a number; in a stream of Anthropic's API each is a `ping`. One of our routers behind it uses these options instead.
 * Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { heartbeat, responsesRouter } from 'express-open-responses';
 *
 * express().use('/v1', heartbeat({ intervalMs: 5000, style: 'keepalive' }), responsesRouter()).listen(3000);
 * ```
 */
export function heartbeat(options: HeartbeatMiddlewareOptions = {}): NodeMiddleware {
  const wanted = heartbeatSettings('heartbeat', options, { openAfterMs: millisecondsOrNever });
  const openAfterMs = openAfter(options.openAfterMs ?? DEFAULT_LIMITS.openAfterMs, wanted);
  return function heartbeatMiddleware(req, res, next) {
    // Every client of Anthropic's API knows this event.
    const own: WantedHeartbeat = isMessagesPath(originalUrl(req)) ? { ...wanted, style: 'ping' } : wanted;
    setTurnContext(res, { ...turnContext(res), heartbeat: wanted });
    // A guard in front writes later than it is written to, and would take the handler's head for missing.
    const opens = openAfterMs < Number.POSITIVE_INFINITY && !turnContext(res).guards;
    const stopOpening = opens ? openWhenSilent(req, res, { ...own, openAfterMs }) : undefined;
    onHead(res, (head, layer) => {
      stopOpening?.();
      const isOpen = isEventStream(head) && !head.compressed && !head.measured;
      if (isOpen && !turnContext(res).handled) startHeartbeat(res, layer, own);
    });
    next();
  };
}

/** Opens the stream of a handler that is silent for too long, and fills its silence until the returned function is called. */
function openWhenSilent(
  req: NodeRequest,
  res: ServerResponse,
  { openAfterMs, intervalMs, style }: WantedHeartbeat & { readonly openAfterMs: number },
): () => void {
  const early = new EarlyAnswer(res);
  const frame = style === 'ping' ? PING_FRAME : HEARTBEAT_FRAME;
  let timer = setTimeout(() => {
    // Only now: a middleware behind this one may have read the body, or one of our routers answer.
    const { body, method } = req;
    const wantsStream = method === 'POST' && isRecord(body) && body.stream === true;
    const api = wantsStream ? detectApi(originalUrl(req), body) : undefined;
    if (!api || turnContext(res).handled) return;
    const requestId = turnContext(res).requestId ?? requestIdFrom(req.headers['x-request-id']);
    const eventsFor = (answer: OtherAnswer) => failureFrames(api, answer, requestId);
    if (!early.open({ headers: STREAM_HEADERS, first: frame, eventsFor })) return;
    timer = setInterval(() => early.fill(frame), intervalMs).unref();
  }, openAfterMs).unref();
  const stop = () => clearTimeout(timer);
  onClose(res, stop);
  return stop;
}

/** The events of an open stream for an answer that is none: the handler's refusal, or something that is no stream. */
function failureFrames(api: ApiName, { status, text }: OtherAnswer, requestId: string): string {
  const error =
    status >= 400
      ? upstreamError(status, text)
      : new ApiError('upstream_error', 'The model server did not answer with a stream.');
  if (api === 'messages') return `event: error\ndata: ${JSON.stringify(anthropicError(error, requestId))}\n\n`;
  if (api === 'chat-completions') return chunkFrame({ error: error.body }) + DONE_FRAME;
  const { code, message, param } = error.body;
  return numberedFrame({ type: 'error', code, message, param }, 0);
}

/** Writes heartbeats until the answer ends; every write restarts the interval. */
function startHeartbeat(res: ServerResponse, layer: Layer, { intervalMs, style }: WantedHeartbeat): void {
  const tail = eventTail();
  const { write, end } = layer;
  const timer = setInterval(() => {
    // None for a client that does not read.
    if (tail.between && !res.writableEnded && !res.destroyed && !res.writableNeedDrain)
      write(style === 'ping' ? PING_FRAME : HEARTBEAT_FRAME, 'utf8');
  }, intervalMs);
  timer.unref();

  const restart = (chunk: unknown) => {
    timer.refresh();
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) tail.take(chunk);
  };
  layer.write = function watchedWrite(...args: unknown[]) {
    restart(args[0]);
    return write(...(args as Parameters<typeof write>));
  } as typeof write;
  layer.end = function watchedEnd(...args: unknown[]) {
    clearInterval(timer);
    return end(...(args as unknown as Parameters<typeof end>));
  } as typeof end;
  onClose(res, () => clearInterval(timer));
}
