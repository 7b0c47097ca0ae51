/** Every API over a model server that is silent until each of its clients has received so many heartbeats. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import express, { type RequestHandler } from 'express';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { attachResponsesWebSocket, type WebSocketCoreOptions } from 'express-open-responses/websocket';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import { WebSocket } from 'ws';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  heartbeat,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
  runTools,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { messagesStream, textBlock } from '../upstreams/messages-bytes.ts';
import { gate } from './gate.ts';
import { listening } from './listening.ts';

/** The times of the app, in milliseconds, and of its clients. */
export interface SilentSetup {
  /** The options of the routers that decide when they open; none for the defaults. */
  readonly options: Pick<RouterOptions, 'limits' | 'heartbeat'>;
  /** For `heartbeat` in front of a proxy. */
  readonly proxy: NonNullable<Parameters<typeof heartbeat>[0]>;
  /** Starts what stands between the clients and the app at this port; returns its own port. */
  readonly front: (port: number) => Promise<number>;
  /** The heartbeats that each client receives before the model answers. */
  readonly heartbeats: number;
  /** The same for tokligence's dialect, whose own interval is shorter. */
  readonly pings: number;
}

const MESSAGES = [{ role: 'user', content: 'Hi.' }];
const CHAT = { model: 'm', messages: MESSAGES, stream: true };
const RESPONSE = { model: 'm', input: 'Hi.', stream: true };
const MESSAGE = { model: 'm', max_tokens: 9, messages: MESSAGES, stream: true };
const FILLING = /^: heartbeat$|^event: (?:ping|keepalive)\n/;

/** What the clients received, by the path that they asked: the kinds of their frames, in order and each once. */
export type Received = Readonly<Record<string, readonly string[]>>;

/** Asks every API at once, and lets the model answer when all clients have received their heartbeats. */
export async function throughSilence(setup: SilentSetup): Promise<Received> {
  const goOn = gate();
  let isSilent = false;
  const fake = await startFakeUpstream({
    reply: async ({ path }) => {
      if (isSilent) await goOn.opened;
      const words = path.endsWith('/messages') ? messagesStream([textBlock(0, 'Well.')]) : textStream(['Well.']);
      return { body: words, headers: { 'content-type': 'text/event-stream' } };
    },
  });
  const app = await startApis(fake.baseURL, setup);
  try {
    const port = await setup.front(app.port);
    const asked: Readonly<Record<string, JsonObject>> = {
      'v1/responses': RESPONSE,
      'v1/chat/completions': CHAT,
      'v1/messages': MESSAGE,
      'anthropic/messages': MESSAGE,
      'tokligence/responses': RESPONSE,
      'proxy/chat/completions': CHAT,
      'tools/chat/completions': CHAT,
    };
    // A first request may take seconds on a busy machine, in which schemas and connections are made.
    await Promise.all(Object.entries(asked).map(([path, body]) => streamed(app.port, path, body).rest));
    isSilent = true;
    const clients = Object.entries(asked).map(([path, body]) => streamed(port, path, body));
    const all = [...clients, socketed(port)];
    const enough = ({ path, counted }: Client) => counted(path.startsWith('tok') ? setup.pings : setup.heartbeats);
    await Promise.all(all.map(enough));
    goOn.open();
    return Object.fromEntries(await Promise.all(all.map(async ({ path, rest }) => [path, await rest] as const)));
  } finally {
    goOn.open();
    await app.close();
    await fake.close();
  }
}

async function startApis(baseURL: string, { options, proxy }: SilentSetup) {
  const upstream = chatCompletionsUpstream({ baseURL, apiKey: 'key', retries: 0 });
  const anthropic = anthropicUpstream({ baseURL, apiKey: 'key', retries: 0 });
  const all: RouterOptions = { store: memoryStore(), logger: false, upstream, ...options };
  const tools = functionTools({ now: { execute: () => '12:00' } });
  const { heartbeat: paced } = options;
  const pinging = paced ? { heartbeat: { ...paced, style: 'ping' as const } } : {};
  const forwarding = createProxyMiddleware({ target: baseURL, on: { proxyReq: fixRequestBody } }) as RequestHandler;
  const apis = express()
    .use('/v1', responsesRouter(all), chatCompletionsRouter(all), messagesRouter(all))
    .use('/anthropic', messagesRouter({ ...all, upstream: anthropic }))
    .use('/tokligence', responsesRouter({ ...all, ...pinging, dialect: 'tokligence' }))
    .use('/proxy', express.json(), heartbeat(proxy) as RequestHandler, forwarding)
    .use('/tools', express.json(), runTools({ ...options, tools, upstream }) as RequestHandler);
  const server = createServer(apis);
  const attached = attachResponsesWebSocket(server, all as WebSocketCoreOptions);
  const { url, close } = await listening(server);
  const stop = async () => {
    await attached.close();
    await close();
    await Promise.all([upstream.close?.(), anthropic.close?.()]);
  };
  return { port: Number(new URL(url).port), close: stop };
}

/** One client. */
interface Client {
  readonly path: string;
  /** Resolves when it has received so many heartbeats; rejects if its answer has ended before. */
  readonly counted: (heartbeats: number) => Promise<void>;
  /** What it has received at the end. */
  readonly rest: Promise<readonly string[]>;
}

/** Counts what comes: `take` receives the kind of each frame, and `true` for one that fills silence. */
function clientOf(path: string, read: (take: (kind: string, isFilling: boolean) => void) => Promise<void>): Client {
  const kinds: string[] = [];
  let seen = 0;
  let wake = () => {};
  const take = (kind: string, isFilling: boolean) => {
    if (isFilling) seen += 1;
    else if (kinds.at(-1) !== kind) kinds.push(kind);
    wake();
  };
  let hasEnded = false;
  const over = read(take).finally(() => {
    hasEnded = true;
    wake();
  });
  over.catch(() => {});
  return {
    path,
    async counted(heartbeats) {
      while (seen < heartbeats && !hasEnded) await new Promise<void>((resolve) => (wake = resolve));
      if (seen < heartbeats) throw new Error(`${path} ended after ${seen} heartbeats: ${kinds}`);
    },
    rest: over.then(() => kinds),
  };
}

function streamed(port: number, path: string, body: JsonObject): Client {
  return clientOf(path, async (take) => {
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
    const url = `http://127.0.0.1:${port}/${path}`;
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    take(`${answer.status} ${answer.headers.get('content-type')}`, false);
    let text = '';
    for await (const piece of answer.body ?? []) {
      text += Buffer.from(piece).toString('utf8');
      const frames = text.split('\n\n');
      text = frames.pop() ?? '';
      for (const frame of frames) take(kindOf(frame), FILLING.test(frame));
    }
    if (text !== '') take(`broken: ${text}`, false);
  });
}

function kindOf(frame: string): string {
  return /^event: (\S+)/.exec(frame)?.[1] ?? (frame === 'data: [DONE]' ? 'done' : frame.slice(0, 5));
}

function socketed(port: number): Client {
  return clientOf('WebSocket', async (take) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/responses`);
    const closed = once(socket, 'close');
    socket.on('ping', () => take('ping', true));
    socket.on('message', (data) => {
      const { type } = JSON.parse(String(data));
      take(type, type === 'keepalive');
      if (type === 'response.completed' || type === 'error' || type === 'response.failed') socket.close();
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'Hi.' }));
    await closed;
  });
}

/** What each of them should receive. */
export const WHOLE: Received = {
  'v1/responses': responsesKinds('done'),
  'v1/chat/completions': ['200 text/event-stream', 'data:', 'done'],
  'v1/messages': messagesKinds(),
  'anthropic/messages': messagesKinds(),
  'tokligence/responses': responsesKinds('done'),
  'proxy/chat/completions': ['200 text/event-stream', 'data:', 'done'],
  'tools/chat/completions': ['200 text/event-stream', 'data:', 'done'],
  WebSocket: responsesKinds().slice(1),
};

function messagesKinds(): readonly string[] {
  return [
    '200 text/event-stream',
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ];
}

function responsesKinds(...last: readonly string[]): readonly string[] {
  const events = [
    'created',
    'in_progress',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ];
  return ['200 text/event-stream', ...events.map((event) => `response.${event}`), ...last];
}

/** The `http { }` of an nginx that passes everything on, and waits for as long as this for each piece. */
export function nginxBefore(appPort: number, timeout: string): (port: number) => string {
  return (port) => `map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
    server { listen 127.0.0.1:${port};
      location / {
        proxy_pass http://127.0.0.1:${appPort}; proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
        proxy_read_timeout ${timeout}; proxy_send_timeout ${timeout}; send_timeout ${timeout};
      } }`;
}
