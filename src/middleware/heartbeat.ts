/** Writes heartbeats into another handler's event stream, so that proxies and clients do not time out. */
import type { ServerResponse } from 'node:http';
import { isEventStream, type Layer, onHead } from '../node/event-stream.ts';
import { type EventTail, eventTail } from '../node/event-tail.ts';
import { contextOf, keepContext } from '../node/node-request.ts';
import type { WantedHeartbeat } from '../ports/turn-context.ts';
import { type HeartbeatOptions, heartbeatSettings } from '../server/options.ts';
import { HEARTBEAT_FRAME } from '../streams/sse-frames.ts';
import { type NodeMiddleware, urlOf } from './as-middleware.ts';
import { speaksMessages } from './dialect.ts';

const PING_FRAME = 'event: ping\ndata: {"type":"ping"}\n\n';

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
export function heartbeat(options: HeartbeatOptions = {}): NodeMiddleware {
  const wanted = heartbeatSettings('heartbeat', options);
  return function heartbeatMiddleware(req, res, next) {
    // Every client of Anthropic's API knows this event.
    const own: WantedHeartbeat = speaksMessages(urlOf(req)) ? { ...wanted, style: 'ping' } : wanted;
    keepContext(res, { ...contextOf(res), heartbeat: wanted });
    onHead(res, (head, layer) => {
      const isOpen = isEventStream(head) && !head.compressed && !head.measured;
      if (isOpen && !contextOf(res).handled) startHeartbeat(res, layer, own);
    });
    next();
  };
}

/** Writes heartbeats until the answer ends; every write restarts the interval. */
function startHeartbeat(res: ServerResponse, layer: Layer, { intervalMs, style }: WantedHeartbeat): void {
  const tail = eventTail();
  const { write, end } = layer;
  const timer = setInterval(() => {
    if (maySend(res, tail)) write(style === 'ping' ? PING_FRAME : HEARTBEAT_FRAME, 'utf8');
  }, intervalMs);
  timer.unref();

  const watched = (chunk: unknown) => {
    timer.refresh();
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) tail.take(chunk);
  };
  layer.write = function watchedWrite(...given: unknown[]) {
    watched(given[0]);
    return write(...(given as Parameters<typeof write>));
  } as typeof write;
  layer.end = function watchedEnd(...given: unknown[]) {
    clearInterval(timer);
    return end(...(given as unknown as Parameters<typeof end>));
  } as typeof end;
  res.once('close', () => clearInterval(timer));
}

/** No heartbeats for a client that does not read. */
function maySend(res: ServerResponse, { between }: EventTail): boolean {
  return between && !res.writableEnded && !res.destroyed && !res.writableNeedDrain;
}
