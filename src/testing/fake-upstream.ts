/** A Chat Completions server for tests: real HTTP on a port of its own, recorded bytes, and faults on demand. */
import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isRecord } from '../protocol/record.ts';
import { chatCompletion, textStream } from './chat-bytes.ts';
import {
  answerExchange,
  type FakeExchange,
  type FakeRequest,
  type FakeResponder,
  readExchange,
} from './fake-exchange.ts';
import type { FakeReply } from './fake-reply.ts';

/** The options of the fake upstream. */
export interface FakeUpstreamOptions {
  /** The reply while `reply` has queued nothing; by default it sends "Hello!", streamed if the request asks for it. */
  readonly reply?: FakeResponder;
  /** The ids that `GET …/models` lists; `fake-model` by default. */
  readonly models?: readonly string[];
}

/** A running fake upstream. */
export interface FakeUpstream {
  /** The base URL for clients: `http://127.0.0.1:<port>/v1`. */
  readonly baseURL: string;
  /** Every request so far, including those for `/models`, in the order in which they were read. */
  readonly requests: readonly FakeRequest[];
  /** How many connections are open, including idle ones; the fake itself closes none for being idle. */
  readonly openSockets: number;
  /** Queues replies: each answers one request, the last one all that follow. */
  reply(...replies: readonly FakeResponder[]): void;
  /** The next request that is read after this call. */
  nextRequest(): Promise<FakeRequest>;
  /**
   * When the client left request number `index` (from 0; it may be in the future) before the reply was complete, on
   * the clock of `performance.now()`. Rejects if the reply ended in another way.
   */
  closed(index: number): Promise<number>;
  /** Destroys every connection and stops. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts a fake upstream on a free port of 127.0.0.1.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { startFakeUpstream, textStream } from 'express-open-responses/testing';
 *
 * const fake = await startFakeUpstream({ reply: { body: textStream('Hello!') } });
 * const router = responsesRouter({ upstream: chatCompletionsUpstream({ baseURL: fake.baseURL }) });
 * ```
 */
export async function startFakeUpstream(options: FakeUpstreamOptions = {}): Promise<FakeUpstream> {
  const { models = ['fake-model'], reply = helloReply } = options;
  const replies = replyQueue(reply);
  const exchanges: FakeExchange[] = [];
  const requests: FakeRequest[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);

  // Only the client closes an idle connection: a leak shows in openSockets, and no test races the server's timeout.
  const server = createServer({ noDelay: true, keepAliveTimeout: 0 }, async (incoming, response) => {
    const exchange = await readExchange(incoming, response);
    if (exchange === undefined) return;
    requests.push(exchange.request);
    exchanges.push(exchange);
    arrivals.emit('request', exchange.request);
    const { method, path } = exchange.request;
    const isModels = method === 'GET' && /\/models(\?|$)/.test(path);
    await answerExchange(exchange, isModels ? { body: fakeModelList(models) } : replies.next());
  });
  const sockets = trackSockets(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function nextRequest(): Promise<FakeRequest> {
    const [request] = await once(arrivals, 'request');
    return request;
  }

  async function closed(index: number): Promise<number> {
    const exchange = exchanges[index];
    if (exchange) return exchange.clientLeft;
    await nextRequest();
    return closed(index);
  }

  async function stop(): Promise<void> {
    const stopped = once(server, 'close');
    server.close();
    for (const exchange of exchanges) exchange.end('destroy');
    for (const socket of sockets) socket.destroy();
    await stopped;
  }

  let stopping: Promise<void> | undefined;
  return {
    // The cast: a server that listens on TCP has an address that is not a pipe's name.
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    get openSockets() {
      return sockets.size;
    },
    reply: replies.add,
    nextRequest,
    closed(index) {
      const left = closed(index);
      // A rejection does not end the process if the test has stopped waiting for it.
      left.catch(() => {});
      return left;
    },
    close() {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Replies in order; the last one taken repeats, and before the first there is `last`. */
function replyQueue(last: FakeResponder) {
  let repeated = last;
  const queue: FakeResponder[] = [];
  return {
    add(...replies: readonly FakeResponder[]): void {
      queue.push(...replies);
    },
    next(): FakeResponder {
      repeated = queue.shift() ?? repeated;
      return repeated;
    },
  };
}

function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

function fakeModelList(models: readonly string[]): string {
  const data = models.map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'fake-upstream' }));
  return JSON.stringify({ object: 'list', data });
}

function helloReply({ body }: FakeRequest): FakeReply {
  const streamed = isRecord(body) && body.stream === true;
  return { body: streamed ? textStream('Hello!') : chatCompletion('Hello!') };
}
