/** A host ends an answer itself, as timeout middlewares do: the model's work for it ends too, and nothing is thrown. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import express, { type RequestHandler, type Response as Res } from 'express';
import { toEndpointRequest } from '../../src/hosts/node/node-request.ts';
import { respond } from '../../src/hosts/node/respond.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  messagesRouter,
  type RouterOptions,
  responsesRouter,
  runTools,
  type Upstream,
} from '../../src/index.ts';
import type { Reply } from '../../src/protocol/reply.ts';
import {
  chatChunk,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { gate } from '../support/gate.ts';
import { type Listening, listening } from '../support/listening.ts';

const MESSAGES = [{ role: 'user', content: 'Hi.' }];
const TOOLS = functionTools({ now: { execute: () => '12:00' } });
const BODIES = {
  responses: { model: 'm', input: 'Hi.' },
  messages: { model: 'm', max_tokens: 9, messages: MESSAGES },
  'chat/completions': { model: 'm', messages: MESSAGES },
  'tools/chat/completions': { model: 'm', messages: MESSAGES },
} as const;
type Path = keyof typeof BODIES;
const PATHS = Object.keys(BODIES) as readonly Path[];

let fake: FakeUpstream;
let upstream: Upstream;
let app: Listening;
/** The answers that the host may end. */
let answers: Res[] = [];
const thrown: unknown[] = [];
const note = (error: unknown) => void thrown.push(error);

beforeEach(async () => {
  fake = await startFakeUpstream();
  process.on('uncaughtException', note).on('unhandledRejection', note);
});
afterEach(async () => {
  await app.close();
  await upstream.close?.();
  await fake.close();
  process.off('uncaughtException', note).off('unhandledRejection', note);
  answers = [];
  expect(thrown.splice(0)).toEqual([]);
});

async function start(options: RouterOptions = {}): Promise<void> {
  upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
  const all: RouterOptions = { store: memoryStore(), logger: false, upstream, ...options };
  const remember: RequestHandler = (_req, res, next) => {
    answers.push(res);
    next();
  };
  const tools = runTools({ tools: TOOLS, upstream }) as RequestHandler;
  const server = express()
    .use(remember)
    .post('/v1/tools/chat/completions', express.json(), tools)
    .use('/v1', responsesRouter(all), messagesRouter(all), chatCompletionsRouter(all));
  app = await listening(server);
}

/** Nothing leaves this socket until the returned function is called, so an answer does not finish. */
function heldBack(socket: Socket): () => void {
  const { _write: write, _writev: writev } = socket;
  const waiting: (() => void)[] = [];
  socket._write = (...given) => void waiting.push(() => write.apply(socket, given));
  if (writev) socket._writev = (...given) => void waiting.push(() => writev.apply(socket, given));
  return () => {
    socket._write = write;
    if (writev) socket._writev = writev;
    for (const each of waiting) each();
  };
}

function post(path: Path, stream: boolean): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  return fetch(`${app.url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify({ ...BODIES[path], stream }) });
}

describe.each(PATHS)('/%s', (path) => {
  it.each([false, true])(
    '[O-12] ends the model request after the host has answered in its place, streamed: %s',
    async (stream) => {
      fake.reply({ hang: true });
      await start();
      const asked = fake.nextRequest();
      const answer = post(path, stream);
      await asked;
      answers[0]?.status(503).json({ error: 'the host timed out' });
      expect((await answer).status).toBe(503);
      expect(await fake.closed(0)).toEqual(expect.any(Number));
      fake.reply({ body: textStream(['Hi.']) });
      expect((await post(path, true)).status).toBe(200);
    },
  );

  it('[O-12] ends the model request after the host has ended the stream', async () => {
    fake.reply({ body: chatChunk({ content: 'One' }), stallAfterBytes: 9999 });
    await start();
    const answer = await post(path, true);
    answers[0]?.end();
    await answer.text();
    expect(await fake.closed(0)).toEqual(expect.any(Number));
  });
});

it('[O-12] throws nothing where the model goes on to write while a slow client still reads the end of the host', async () => {
  const words = chatChunk({ content: 'x'.repeat(100_000) });
  fake.reply({ body: words, endless: true });
  await start({ limits: { model: { outputBytes: 2 ** 30 } } });
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  const body = JSON.stringify({ ...BODIES.responses, stream: true });
  const head = 'POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\n';
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await once(socket, 'readable');
  const [res] = answers;
  if (!res) throw new Error('There is no answer.');
  while (!res.writableNeedDrain) await new Promise(setImmediate);
  res.end();
  socket.resume();
  expect(await fake.closed(0)).toEqual(expect.any(Number));
  socket.destroy();
});

it('[O-12] throws nothing where the model writes between the end of the host and its finish', async () => {
  await start();
  fake.reply({ body: chatChunk({ content: 'One' }), endless: true, paceMs: 1 });
  const answer = await post('chat/completions', true);
  const [res] = answers;
  if (!res?.socket) throw new Error('There is no answer.');
  const release = heldBack(res.socket);
  // Not a listener, which would keep the error from being thrown.
  const { emit } = res;
  const failed = gate<string>();
  res.emit = (name: string, ...given: unknown[]) => {
    if (name === 'error') failed.open((given[0] as { readonly code: string }).code);
    return emit.call(res, name, ...given);
  };
  res.end();
  const code = await failed.opened;
  release();
  await answer.text();
  expect([code, await fake.closed(0)]).toEqual(['ERR_STREAM_WRITE_AFTER_END', expect.any(Number)]);
});

it.each<[string, Reply['body']]>([
  ['whole', '{}'],
  [
    'streamed',
    (async function* () {
      yield 'data: 1\n\n';
    })(),
  ],
])('[O-12] does not abort the signal of a request whose answer is sent by this package: %s', async (_, body) => {
  upstream = { name: 'none', async *stream() {} };
  let signal: AbortSignal | undefined;
  let closed: Promise<unknown> | undefined;
  app = await listening((req, res) => {
    signal = toEndpointRequest(req, res).signal;
    closed = once(res, 'close');
    void respond(res, { status: 200, headers: {}, body });
  });
  await (await fetch(app.url)).text();
  await closed;
  expect(signal?.aborted).toBe(false);
});

it('[O-12] leaves the signal of an answer alone that ended by itself', async () => {
  const signals: AbortSignal[] = [];
  const tools = functionTools({
    now: {
      execute(_args: unknown, { signal }: { readonly signal: AbortSignal }) {
        signals.push(signal);
        return '12:00';
      },
    },
  });
  await start({ tools });
  for (const stream of [true, false]) {
    fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) },
      { body: textStream('Noon.') },
    );
    const closed = once(app.server, 'request').then(([, res]) => once(res, 'close'));
    await (await post('responses', stream)).text();
    await closed;
  }
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
});
