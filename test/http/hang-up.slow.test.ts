/** A client that leaves: the model server is left at once, nothing is kept, and nobody else notices. */

import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import express from 'express';
import {
  chatCompletionsUpstream,
  memoryStore,
  type ResponseStore,
  responsesRouter,
  type StoredResponse,
} from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatChunk,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { HOUR_LONG_LIMITS } from '../support/patience.ts';
import { ask, askJson, outcomeOf } from './client.ts';

let fake: FakeUpstream;
let app: App;
let put: StoredResponse[];
let reported: string[];

beforeEach(async () => {
  put = [];
  reported = [];
  fake = await startFakeUpstream();
  const hooks = { onError: () => void reported.push('onError'), onResponse: () => void reported.push('onResponse') };
  app = await startApp({ upstream: fake, options: { store: watchedStore(), hooks, limits: HOUR_LONG_LIMITS } });
});

afterEach(() => Promise.all([app.close(), fake.close()]));

/** A memory store that notes what is put. */
function watchedStore(): ResponseStore {
  const store = memoryStore();
  return {
    ...store,
    put(response) {
      put.push(response);
      store.put(response);
    },
  };
}

const ENDLESS: FakeReply = { body: chatChunk({ content: 'word ' }), endless: true, paceMs: 5 };
const STALLED: FakeReply = { body: textStream('Hi'), stallAfterBytes: 0 };
const SPOKEN: FakeReply = { body: chatChunk({ content: 'word ' }), stallAfterBytes: 10_000 };

const RUNS = 9;

/** When the client may leave: once the model server has the request, or once the client has read something. */
type Moment = 'asked' | 'answered';

/** Resolves when the model server has noticed that one client left. */
async function leave(index: number, body: JsonObject, moment: Moment): Promise<void> {
  const client = new AbortController();
  const arrived = fake.nextRequest();
  const response = ask(app.url, body, { signal: client.signal });
  response.catch(() => {});
  await arrived;
  if (moment === 'answered') await (await response).body?.getReader().read();
  client.abort();
  await fake.closed(index);
}

describe('a client that hangs up', () => {
  it.each<[string, FakeReply, JsonObject, Moment]>([
    ['in the middle of a stream', ENDLESS, { stream: true }, 'answered'],
    ['in the middle of a stream that is silent', SPOKEN, { stream: true }, 'answered'],
    ['before the first token, where the model server has not answered', { hang: true }, { stream: true }, 'asked'],
    ['before the first token, where the model server has sent its headers', STALLED, { stream: true }, 'asked'],
    ['on a JSON request, where the model server has not answered', { hang: true }, {}, 'asked'],
    ['on a JSON request, in the middle of the answer', ENDLESS, {}, 'asked'],
  ])('[P-10] makes us leave the model server at once: %s', async (_, reply, body, moment) => {
    fake.reply(reply);
    for (let run = 0; run < RUNS; run += 1) await leave(run, body, moment);
    expect(fake.requests.length).toBe(RUNS);
  });

  it.each<[string, FakeReply, JsonObject, Moment]>([
    ['a stream', ENDLESS, { stream: true }, 'answered'],
    ['a stream before its first token', { hang: true }, { stream: true }, 'asked'],
    ['a JSON request', ENDLESS, {}, 'asked'],
  ])(
    '[P-10] leaves nothing stored, no error reported, and the next client unharmed: %s',
    async (_, reply, body, moment) => {
      fake.reply(reply, { body: textStream('Hi') });
      await leave(0, body, moment);
      const next = await outcomeOf(app.url, await ask(app.url));
      expect([next.ending, put.length, reported]).toEqual(['completed', 1, ['onResponse']]);
    },
  );

  it('[P-10] during the store’s put loses the answer but not what was put, and nothing is left running', async () => {
    const store = memoryStore();
    const client = new AbortController();
    const slow: ResponseStore = {
      ...store,
      async put(response) {
        client.abort();
        await new Promise(setImmediate);
        store.put(response);
      },
    };
    const other = await startApp({ upstream: fake, options: { store: slow } });
    const name = await ask(other.url, {}, { signal: client.signal }).catch((error: Error) => error.name);
    while (store.size === 0) await new Promise(setImmediate);
    await other.router.drain({ timeoutMs: 1000 });
    await other.close();
    expect([name, store.size]).toEqual(['AbortError', 1]);
  });

  it('[P-10] before its body is whole is not even a request', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.write(
      'POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"mo',
    );
    await once(app.server, 'request');
    socket.destroy();
    const next = await askJson(app.url);
    expect([next.status, fake.requests.length]).toEqual(['completed', 1]);
  });

  it.each([true, false])('[P-10] by closing only its half of the connection has left (stream: %s)', async (stream) => {
    fake.reply(SPOKEN);
    const body = JSON.stringify({ model: 'm', input: 'Hi', stream });
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    const head = `POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    const arrived = fake.nextRequest();
    socket.resume().write(`${head}\r\n\r\n${body}`);
    await arrived;
    socket.end();
    await fake.closed(0);
    expect(put).toEqual([]);
  });

  it('[P-10] 50 times at once leaves no connection to the model server', async () => {
    fake.reply(ENDLESS);
    const clients = Array.from({ length: 50 }, () => new AbortController());
    const readers = await Promise.all(
      clients.map(async ({ signal }) => (await ask(app.url, { stream: true }, { signal })).body?.getReader()),
    );
    await Promise.all(readers.map((reader) => reader?.read()));
    const open = fake.openSockets;
    for (const client of clients) client.abort();
    await Promise.all(clients.map((_, index) => fake.closed(index)));
    while (fake.openSockets > 0) await new Promise(setImmediate);
    expect([open, put]).toEqual([50, []]);
  });
});

describe('a client that has left before its request is looked at', () => {
  it('[F-12] [P-10] asks nothing of the model server', async () => {
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k' });
    const client = new AbortController();
    let handled = () => {};
    const over = new Promise<void>((resolve) => {
      handled = resolve;
    });
    const host = express().use(express.json(), async (_req, res, next) => {
      client.abort();
      await once(res, 'close');
      next();
      // Whatever it asks, it asks by then.
      setTimeout(handled, 100);
    });
    const server = host.use(responsesRouter({ upstream, store: memoryStore() })).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(ask(url, {}, { signal: client.signal })).rejects.toThrow('aborted');
    await over;
    server.close();
    expect(fake.requests).toEqual([]);
  });
});
