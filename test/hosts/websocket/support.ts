/** An app with the Responses API over HTTP and WebSocket, and a client that sends messages and reads what comes back. */

import { EventEmitter, once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { type ClientOptions, WebSocket } from 'ws';
import {
  type AttachedWebSocket,
  attachResponsesWebSocket,
  type WebSocketCoreOptions,
  type WebSocketOptions,
} from '../../../src/hosts/websocket/index.ts';
import {
  type ChatCompletionsOptions,
  chatCompletionsUpstream,
  memoryStore,
  type RouterOptions,
} from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import type { StartExample } from '../../acceptance/examples.ts';
import { type App, startApp } from '../../support/app.ts';

/** One message of the server's. */
export interface Message extends JsonObject {
  readonly type: string;
}

/** What a test may change. */
export interface SocketAppSetup extends WebSocketCoreOptions, WebSocketOptions {
  readonly chat?: ChatCompletionsOptions;
}

/** A running app and its model server. */
export interface SocketApp extends App {
  readonly attached: AttachedWebSocket;
  readonly fake: FakeUpstream;
  /** `ws://…/v1/responses`. */
  readonly socketUrl: string;
  /** The codes of the errors that the hook received. */
  readonly errors: readonly string[];
  connect(options?: ClientOptions): Promise<Talk>;
  /** What an upgrade is refused with. */
  refusal(options?: ClientOptions, url?: string): Promise<{ readonly status: number; readonly body: unknown }>;
  /** The messages of the last request to the model server. */
  requested(): readonly JsonObject[];
}

/** Starts all of it on free ports of 127.0.0.1; both APIs share the store and the model server. */
export async function startSocketApp({ chat, ...options }: SocketAppSetup = {}): Promise<SocketApp> {
  const fake = await startFakeUpstream();
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key', retries: 0, ...chat });
  const errors: string[] = [];
  const hooks = { onError: ({ code }: { readonly code: string }) => void errors.push(code) };
  const shared = { upstream, store: memoryStore(), hooks };
  const { path, authorize, connectionMs, pingMs, maxLanes, maxQueued, memoryBytes, ...core } = options;
  // The cast: the functions of these tests read no request of Express.
  const app = await startApp({ options: { ...shared, ...core } as RouterOptions });
  const own = { path, authorize, connectionMs, pingMs, maxLanes, maxQueued, memoryBytes };
  const attached = attachResponsesWebSocket(app.server, { ...shared, ...core }, own);
  const socketUrl = `${app.url.replace('http', 'ws')}/responses`;
  const open: WebSocket[] = [];

  return {
    ...app,
    attached,
    fake,
    socketUrl,
    errors,
    async connect(clientOptions) {
      const socket = new WebSocket(socketUrl, clientOptions);
      open.push(socket);
      const talk = talkOn(socket);
      await once(socket, 'open');
      return talk;
    },
    async refusal(clientOptions, url = socketUrl) {
      const socket = new WebSocket(url, clientOptions).on('error', () => {});
      const [, response] = (await once(socket, 'unexpected-response')) as [ClientRequest, IncomingMessage];
      return { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) };
    },
    requested: () => messagesAsked(fake),
    async close() {
      for (const socket of open) socket.terminate();
      await attached.close();
      await app.close();
      await upstream.close?.();
      await fake.close();
    },
  };
}

/** An example app over a fake model server. */
export async function startExampleApp(
  start: StartExample,
): Promise<Pick<SocketApp, 'connect' | 'requested' | 'fake' | 'url' | 'close'>> {
  const fake = await startFakeUpstream();
  const example = await start({ UPSTREAM_BASE_URL: fake.baseURL });
  const url = `${example.url}/v1`;
  const open: WebSocket[] = [];

  return {
    fake,
    url,
    async connect(clientOptions) {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/responses`, clientOptions);
      open.push(socket);
      const talk = talkOn(socket);
      await once(socket, 'open');
      return talk;
    },
    requested: () => messagesAsked(fake),
    async close() {
      for (const socket of open) socket.terminate();
      await example.close();
      await fake.close();
    },
  };
}

/** The messages of the last request to the model. */
function messagesAsked(fake: FakeUpstream): readonly JsonObject[] {
  // The cast: what these tests send upstream is a chat request.
  const body = fake.requests.at(-1)?.body as { readonly messages: readonly JsonObject[] } | undefined;
  return body?.messages ?? [];
}

/** A client's side of a connection. */
export interface Talk {
  readonly socket: WebSocket;
  /** Everything that has come, read or not. */
  readonly received: readonly Message[];
  /** How the connection was closed. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** Sends `response.create`; `model` and `input` are filled in. */
  create(body?: JsonObject): void;
  send(data: string | Buffer): void;
  /** The next message that has not been read. */
  next(): Promise<Message>;
  /** What comes up to the next end of a response, or refusal, inclusive; of this lane where it is named. */
  response(lane?: string): Promise<readonly Message[]>;
  /** Sends and reads both. */
  ask(body?: JsonObject): Promise<readonly Message[]>;
}

function talkOn(socket: WebSocket): Talk {
  const received: Message[] = [];
  const unread: Message[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  socket.on('error', () => {});
  socket.on('message', (data) => {
    // The cast: the server sends nothing else.
    const message = JSON.parse(String(data)) as Message;
    received.push(message);
    unread.push(message);
    arrivals.emit('message');
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => {
      resolve({ code, reason: String(reason) });
      arrivals.emit('message');
    });
  });

  async function take(isWanted: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const index = unread.findIndex(isWanted);
      if (index >= 0) return unread.splice(index, 1)[0] as Message;
      if (socket.readyState === WebSocket.CLOSED) throw new Error('The connection was closed.');
      await once(arrivals, 'message');
    }
  }

  async function response(lane?: string): Promise<readonly Message[]> {
    const events: Message[] = [];
    do events.push(await take((message) => lane === undefined || message.stream_id === lane));
    while (!isLast(events.at(-1)));
    return events;
  }

  const create = (body: JsonObject = {}) =>
    socket.send(JSON.stringify({ type: 'response.create', model: 'fake-model', input: 'Hi', ...body }));

  return {
    socket,
    received,
    closed,
    create,
    send: (data) => socket.send(data),
    next: () => take(() => true),
    response,
    ask(body) {
      create(body);
      return response();
    },
  };
}

/** An error of the connection's has a status; one in a response is followed by its end. */
function isLast(message: Message | undefined): boolean {
  if (message?.type === 'error') return 'status' in message;
  return /^response\.(completed|incomplete|failed)$/.test(message?.type ?? '');
}

/** The response in the last message. */
export function finalOf(messages: readonly Message[]): JsonObject & { readonly id: string; readonly status: string } {
  // The cast: only ends of responses are asked.
  return messages.at(-1)?.response as ReturnType<typeof finalOf>;
}

/** The assistant's text. */
export function textOf(messages: readonly Message[]): string {
  return messages.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('');
}

/** The code of the refusal, or how the response ended. */
export function outcomeOf(messages: readonly Message[]): unknown {
  const last = messages.at(-1);
  if (last?.type === 'error') return (last.error as JsonObject).code;
  return finalOf(messages).status;
}
