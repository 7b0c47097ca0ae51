/** Faults that were found by reading, each once a way to stop the process, to lose an answer or to hold the server up. */

import { once } from 'node:events';
import express from 'express';
import { WebSocket } from 'ws';
import { attachResponsesWebSocket } from '../../src/hosts/websocket/index.ts';
import { memoryStore, type ResponseStore, recordTurn, responsesRouter } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';
import { listening } from '../support/listening.ts';

let fake: FakeUpstream;

beforeEach(async () => {
  fake = await startFakeUpstream();
});
afterEach(async () => {
  await fake.close();
});

function post(url: string, body: JsonObject, headers: Readonly<Record<string, string>> = {}) {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
  return fetch(url, { ...init, body: JSON.stringify({ model: 'm', ...body }) });
}

it.each(['open-responses-server', 'vllm-responses', 'tokligence'] as const)(
  '[X-04] [P-14] line separators in a text end no frame: %s',
  async (dialect) => {
    const app = await startApp({ upstream: fake, options: { dialect, limits: { turns: { concurrentTurns: 1 } } } });
    fake.reply({ body: textStream('a\u2028b\u2029c') }, { body: textStream('next') });
    const texts = [];
    for (const input of ['one', 'two'])
      texts.push(await (await post(`${app.url}/responses`, { input, stream: true })).text());
    await app.close();
    expect(texts.map((text) => /a\u2028b\u2029c|next/.exec(text)?.[0])).toEqual(['a\u2028b\u2029c', 'next']);
  },
);

it('[P-14] a hook that fails later is a process warning', async () => {
  const hooks = { onResponse: (async () => Promise.reject(new Error('later'))) as () => void };
  const app = await startApp({ upstream: fake, options: { hooks } });
  const { emitWarning } = process;
  const warned = new Promise((resolve) => {
    process.emitWarning = resolve as typeof emitWarning;
  });
  const { status } = await post(`${app.url}/responses`, { input: 'Hi' });
  expect([status, await warned]).toEqual([200, 'hooks.onResponse threw: Error: later']);
  process.emitWarning = emitWarning;
  await app.close();
});

it('[S-15] [P-14] what a host’s function throws at an upgrade ends that socket alone', async () => {
  const dialect = () => {
    throw new Error('no headers here');
  };
  const app = await startApp({ upstream: fake });
  const webSocket = attachResponsesWebSocket(
    app.server,
    { dialect },
    { authorize: () => ({ status: 403, message: 'no' }) },
  );
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/responses`);
  const [error] = await once(socket, 'error');
  const { status } = await post(`${app.url}/responses`, { input: 'Hi' });
  await webSocket.close();
  await app.close();
  expect([String(error), status]).toEqual(['Error: socket hang up', 200]);
});

it('[X-01] [P-14] a handler behind recordTurn that writes what no response takes harms its own connection alone', async () => {
  const app = express();
  app.post('/llm', express.json(), recordTurn({ store: memoryStore() }), (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end({ not: 'bytes' } as never);
  });
  app.get('/', (_req, res) => void res.send('alive'));
  const { url, close } = await listening(app);
  const broken = await post(`${url}/llm`, { messages: [{ role: 'user', content: 'Hi' }] }).then(
    () => 'answered',
    () => 'broken',
  );
  const alive = await (await fetch(url)).text();
  await close();
  expect([broken, alive]).toEqual(['broken', 'alive']);
});

it('[P-14] many references to one stored response ask the store once', async () => {
  let gets = 0;
  const store = memoryStore();
  const get: ResponseStore['get'] = (key) => {
    gets += 1;
    return store.get(key);
  };
  const counting = { ...store, get };
  const app = await startApp({ upstream: fake, options: { store: counting } });
  // The cast: the answer is a response.
  const first = (await (await post(`${app.url}/responses`, { input: 'Hi' })).json()) as { output: { id: string }[] };
  const input = Array.from({ length: 500 }, () => ({ type: 'item_reference', id: first.output[0]?.id }));
  const { status } = await post(`${app.url}/responses`, { input });
  await app.close();
  expect([status, gets]).toEqual([200, 1]);
});

it.each([
  [
    'limits',
    { limits: { turns: { durationMs: Number.POSITIVE_INFINITY } } },
    /limits.turns: durationMs must be a number of milliseconds/,
  ],
  ['limits', { limits: { request: { storeTimeoutMs: 2 ** 31 } } }, /storeTimeoutMs .* under 2\^31, got 2147483648/],
  ['heartbeat', { heartbeat: { intervalMs: 2 ** 31 } }, /intervalMs .* under 2\^31/],
])('[X-01] times that Node would take for none at all are refused: %s', (_, options, message) => {
  expect(() => responsesRouter({ ...options, store: memoryStore() })).toThrow(message);
});

it('[P-14] a browser’s request without a type is refused, as it may come from any page', async () => {
  const app = await startApp({ upstream: fake });
  const ask = (headers: Readonly<Record<string, string>>) =>
    fetch(`${app.url}/responses`, { method: 'POST', headers, body: new Blob(['{"model":"m","input":"Hi"}']) });
  const statuses = [(await ask({ origin: 'https://evil.example' })).status, (await ask({})).status];
  await app.close();
  expect(statuses).toEqual([415, 200]);
});

it('[P-11] [P-14] namespaces within namespaces are refused by their depth', async () => {
  const app = await startApp({ upstream: fake });
  const depth = 20_000;
  const tools = `${'[{"type":"namespace","name":"n","tools":'.repeat(depth)}[]${'}]'.repeat(depth)}`;
  const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const { status } = await fetch(`${app.url}/responses`, {
    ...init,
    body: `{"model":"m","input":"Hi","tools":${tools}}`,
  });
  await app.close();
  expect(status).toBe(400);
});
