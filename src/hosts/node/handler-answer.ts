/** Calls a handler of the host with our own response object instead of the client's, and returns what it writes. */
import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { DECODERS } from '../../streams/decoders.ts';
import type { Stop } from '../../upstreams/http/connection/watchdog.ts';
import { headerPairs } from './node-body.ts';
import { innerLocals } from './node-request.ts';

/** A handler of Express, Connect or bare Node, with its framework's own request and response. */
export type NodeHandler<Req = IncomingMessage, Res = ServerResponse> = (
  req: Req,
  res: Res,
  next: (error?: unknown) => void,
) => unknown;

/** Such a handler of any framework. */
export type AnyNodeHandler = NodeHandler<never, never>;

/** The answer of the handler. */
interface HandlerAnswer {
  readonly status: number;
  /** Names are lower case. */
  readonly headers: OutgoingHttpHeaders;
  /** Unencoded bytes, whatever the handler wrote. */
  readonly body: Readable;
}

/** A failure that the handler passed to `next`. */
export class HandlerFailed extends Error {
  override readonly name = 'HandlerFailed';
}

/**
 * Calls it with a response that has the `headers` already. Resolves when the head of the handler's answer is written. Rejects with `HandlerFailed`, whose cause is the error the
 * handler threw or passed to `next`, with the reason of `stop`, which closes the response as a client would, and with the
 * error of a response that the handler destroys before the head.
 */
export async function callHandler(
  handler: AnyNodeHandler,
  req: IncomingMessage,
  res: ServerResponse,
  stop: Stop,
  headers: OutgoingHttpHeaders = {},
): Promise<HandlerAnswer> {
  if (stop.aborted) throw stop.reason;
  // Each piece waits for a later tick: a handler that only writes needs backpressure before it has written everything.
  const body = new PassThrough({ transform: (bytes, _, done) => process.nextTick(done, null, bytes) });
  const { response, head } = captureAnswer(req, res, body, headers);
  const failed = new Promise<never>((_, reject) => {
    const fail = (error: unknown) => {
      const failure = new HandlerFailed('The handler failed.', { cause: error });
      reject(failure);
      // The handler will not complete an answer that it has begun.
      if (!response.writableEnded) body.destroy(failure);
    };
    const passed = (error?: unknown) => {
      if (error || !response.headersSent) fail(error ?? new Error('The handler did not answer.'));
    };
    // The casts: the handler takes its framework's objects, and these come from that framework.
    new Promise((resolve) => resolve(handler(req as never, response as never, passed))).catch(fail);
    const stopped = (reason: unknown) => {
      reject(reason);
      response.destroy();
    };
    stop.running = { stopped };
    body.once('close', () => {
      stop.running = undefined;
      // As a proxy does whose server has broken the connection.
      if (!body.writableFinished) reject(body.errored);
    });
  });
  const answer = await Promise.race([head, failed]);
  // Where it broke together with the head, its reader would come too late for the error.
  if (body.errored) throw body.errored;
  return answer;
}

/** Where the package on-finished keeps who waits for the end of the client's response, which is a later one. */
const LISTENERS_OF_END = '__onFinished';

/** A response like the client's own, with the framework's additions, that writes into `body`. */
function captureAnswer(req: IncomingMessage, res: ServerResponse, body: PassThrough, headers: OutgoingHttpHeaders) {
  // The methods of an HTTP/2 response ask for its stream, which is the client's.
  const methods = res instanceof ServerResponse ? Object.getPrototypeOf(res) : ServerResponse.prototype;
  const response: ServerResponse = Object.setPrototypeOf(new ServerResponse(req), methods);
  Object.assign(response, { req, locals: innerLocals(res), socket: req.socket });
  // What earlier middlewares have put on it, such as a logger; no functions, which write to the client.
  for (const key of Reflect.ownKeys(res)) {
    const property = Object.getOwnPropertyDescriptor(res, key);
    if (key in response || key === LISTENERS_OF_END || typeof property?.value === 'function') continue;
    Object.defineProperty(response, key, { ...property, configurable: true });
  }
  // The cast: a header that is set has a value.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value as string);
  Object.defineProperty(response, 'writableFinished', { get: () => body.writableFinished });
  const { writeHead } = response;
  // As with a socket, in a later turn: in the same turn the writer would never let a reader run.
  body.on('drain', () => setImmediate(() => response.emit('drain')));
  body.once('finish', () => response.emit('finish'));
  // The reader of the body receives the error there; possibly nobody reads it.
  body.on('error', () => {});
  body.once('close', () => {
    response.destroyed = true;
    response.emit('close');
  });

  const head = new Promise<HandlerAnswer>((resolve) => {
    // The casts here and below: the overloads, and what a handler passes as headers, are taken as they are.
    response.writeHead = ((...args: unknown[]) => {
      writeHead.apply(response, args as Parameters<typeof writeHead>);
      // As in a list of names and values, where a name such as that of a cookie may stand more than once.
      const written: Record<string, unknown> = {};
      for (const [name, value] of headerPairs(args.at(-1)))
        written[name] = Object.hasOwn(written, name) ? [written[name], value].flat() : value;
      const headers = { ...response.getHeaders(), ...written } as OutgoingHttpHeaders;
      resolve({ status: response.statusCode, headers, body: decompress(body, headers) });
      return response;
    }) as typeof writeHead;
  });
  const openHead = () => response.headersSent || response.writeHead(response.statusCode);
  response.write = ((...args: unknown[]) => {
    openHead();
    return body.write(...(args as Parameters<typeof body.write>));
  }) as typeof response.write;
  response.end = ((...args: unknown[]) => {
    openHead();
    response.finished = true;
    body.end(...(args as Parameters<typeof body.end>));
    return response;
  }) as typeof response.end;
  response.destroy = (error?: Error) => {
    body.destroy(error ?? new Error('The handler broke off its answer.'));
    return response;
  };
  return { response, head };
}

/** A proxy passes on what its server compressed. */
function decompress(body: Readable, headers: OutgoingHttpHeaders): Readable {
  const inflate = DECODERS.get(String(headers['content-encoding'] ?? 'identity').toLowerCase());
  if (!inflate) return body;
  const inflated = inflate();
  body.once('error', (error) => inflated.destroy(error));
  inflated.on('error', () => {});
  inflated.once('close', () => body.destroy());
  return body.pipe(inflated);
}
