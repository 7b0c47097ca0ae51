/** Makes an API request of a Node request, whatever framework it came through. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type EndpointRequest, headersFrom } from '../../engine/request/endpoint-request.ts';
import { markRequest } from '../../engine/request/request-via.ts';
import { checkScope, defaultScope, limitScope } from '../../ports/scope.ts';
import type { TurnContext } from '../../ports/turn-context.ts';
import { requestIdFrom } from '../../protocol/ids.ts';
import type { BodySize } from '../../server/requests/body-room.ts';
import { closeWithConnection } from './pipelined-answers.ts';

/** A request whose body a parser of the host may have read. */
export type NodeRequest = IncomingMessage & {
  /** The parsed body; undefined if nothing has read it. */
  body?: unknown;
};

/** Returns the tenant of a request, as the host knows it. */
export type ScopeOf<Req> = (req: Req) => string;

/**
 * The request, with a signal that is aborted when the client leaves before the answer is finished, or the host has ended
 * the answer itself, as a timeout middleware does.
 */
export function toEndpointRequest<Req extends NodeRequest>(
  req: Req,
  res: ServerResponse,
  scope?: ScopeOf<Req>,
): EndpointRequest {
  markRequest(req, 'http');
  const context = turnContext(res);
  const requestId = context.requestId ?? requestIdFrom(req.headers['x-request-id']);
  const headers = headersFrom(req.headers);
  // Set here, so that the headers need no second copy to add it.
  headers.set('x-request-id', requestId);
  const left = departureController(res);
  return {
    body: req.body,
    params: {},
    query: {},
    headers,
    scope: scope ? checkScope(scope(req)) : (context.scope ?? defaultScope(headers)),
    requestId,
    signal: left.signal,
    abort: (reason) => left.abort(reason),
    request: req,
    context,
    disconnect: () => res.destroy(),
  };
}

/** The headers, for readers of a few: without a copy of all of them. */
export function headerReader({ headers }: NodeRequest): Pick<Headers, 'get'> {
  return { get: (name) => (headers[name] === undefined ? null : String(headers[name])) };
}

/**
 * Whose share of the process's memory a request takes before its body has been read. Those without a valid tenant, who are
 * refused later, share one.
 */
export function shareOfNode(req: NodeRequest, scope?: ScopeOf<never>): string {
  try {
    // The cast: the host states what its earlier handlers make of a request.
    return limitScope(scope ? checkScope(scope(req as never)) : defaultScope(headerReader(req)));
  } catch {
    return '';
  }
}

/** What this package remembers of a request for as long as Node has it. */
export interface Remembered {
  /** Aborted when nobody waits for the answer any more; undefined once this package ends the answer itself. */
  left?: AbortController | undefined;
  /** What is called when the response is closed. One that is written for another handler has the request, too, and listeners of its own. */
  closing?: { readonly res: ServerResponse; readonly listeners: (() => void)[] };
  /** Of a body that was read here. */
  bodySize?: BodySize;
}

/**
 * Its place on the request. Not a `WeakMap`: what is remembered leads back to the request, and V8 then frees both only in a
 * full collection, which cost a short answer a tenth of its time.
 */
const REMEMBERED = Symbol('remembered by express-open-responses');

export function remember(req: IncomingMessage): Remembered {
  // The cast: the symbol is known here only.
  const place = req as { [REMEMBERED]?: Remembered };
  place[REMEMBERED] ??= {};
  return place[REMEMBERED];
}

/** This package ends the answer itself: its end means no longer that nobody waits for it. */
export function takeOverAnswer({ req }: ServerResponse): void {
  // The cast: as above. What is not there is not put there: see `readBytes`.
  const facts = (req as { [REMEMBERED]?: Remembered })[REMEMBERED];
  if (facts) facts.left = undefined;
}

/** Whether nothing can be written any more. A response over HTTP/2 has its stream's word for it. */
export function isClosed(res: ServerResponse & { readonly stream?: { readonly destroyed: boolean } }): boolean {
  return res.destroyed || res.stream?.destroyed === true;
}

/** What a handler is told that writes all the same. */
export function closedError(): Error {
  return new Error('The answer is closed: its client has left, or it has failed.');
}

/**
 * Calls the listener when the response is closed. All of this package's share one listener of the response: a pipeline of the
 * host's handler adds seven, and Node warns of more than ten.
 */
export function onClose(res: ServerResponse, listener: () => void, facts = remember(res.req)): void {
  if (facts.closing?.res === res) return void facts.closing.listeners.push(listener);
  const listeners = [listener];
  facts.closing = { res, listeners };
  res.once('close', () => {
    for (const each of listeners) each();
  });
}

/**
 * Aborted when nobody waits for the answer any more; all users share one listener. Who answers without others has `facts` of its own, instead of
 * those on the request.
 */
export function departureController(res: ServerResponse, facts = remember(res.req)): AbortController {
  if (facts.left) return facts.left;
  const left = new AbortController();
  facts.left = left;
  const close = () => {
    if (!res.writableFinished) left.abort(new Error('The client left.'));
    else if (facts.left === left) left.abort(new Error('The host has ended the answer.'));
  };
  // The client may have left while its body was decompressed, or during the host's look-ups.
  if (isClosed(res)) close();
  else {
    onClose(res, close, facts);
    closeWithConnection(res);
  }
  return left;
}

type WithLocals = ServerResponse & { locals?: Record<string, unknown> };

/** The context that earlier middlewares stored in `res.locals.turn`. */
export function turnContext(res: WithLocals): TurnContext {
  // The cast: only `keepContext` writes it.
  return (res.locals?.turn ?? {}) as TurnContext;
}

/** Stores it for later middlewares. Connect, Koa and bare Node have no `locals`. */
export function setTurnContext(res: WithLocals, context: TurnContext): void {
  res.locals ??= {};
  res.locals.turn = context;
}

/**
 * The locals of an answer that is written for another handler and not for the client: the host's own, with a turn context
 * of its own. Nobody takes that answer over from the middlewares between: in their eyes no router answers yet.
 */
export function innerLocals(res: WithLocals): Record<string, unknown> {
  const { handled: _, ...context } = turnContext(res);
  let turn: unknown = context;
  return new Proxy(res.locals ?? {}, {
    get: (locals, name) => (name === 'turn' ? turn : Reflect.get(locals, name)),
    set(locals, name, value) {
      if (name !== 'turn') return Reflect.set(locals, name, value);
      turn = value;
      return true;
    },
  });
}
