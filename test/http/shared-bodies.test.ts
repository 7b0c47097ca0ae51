/** Bodies that are being read share a bound, which one tenant cannot fill for the others, and what is announced beyond it is refused unread. */
import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createAdaptorServer } from '@hono/node-server';
import { jest } from '@jest/globals';
import express from 'express';
import { openResponses } from 'express-open-responses/core';
import { Hono } from 'hono';
import {
  chatCompletionsRouter,
  type Guard,
  guard,
  injectTools,
  loadHistory,
  memoryStore,
  messagesRouter,
  recordTurn,
  responsesRouter,
  runTools,
  type Upstream,
  validateMessages,
} from '../../src/index.ts';
import { ArrivingBody } from '../../src/server/requests/json-body.ts';
import { type Listening, listening } from '../support/listening.ts';
import { endlessModel, takenInAll } from '../support/unread-client.ts';

const BODIES = 1_000_000;

const upstream: Upstream = {
  name: 'brief',
  async *stream() {
    yield [
      { type: 'text-delta', text: 'Hello.' },
      { type: 'finish', reason: 'stop' },
    ];
  },
  async *chat() {
    yield { whole: true, data: ['{"object":"chat.completion","choices":[]}'] };
  },
};

const limits = { request: { bodiesBytes: BODIES } } as const;
const options = { upstream, store: memoryStore(), logger: false, limits } as const;
const answer: RequestListener = (_req, res) => void res.setHeader('content-type', 'application/json').end('{"ok":1}');
const behind = (middleware: unknown) => express().use(middleware as express.RequestHandler, answer);
const block: Guard = { name: 'nothing', inspect: () => ({ action: 'pass' }) };

/** Everything that reads a body, with a path of its API. */
const READERS: readonly (readonly [string, string, () => RequestListener | Server])[] = [
  ['responsesRouter', '/v1/responses', () => express().use('/v1', responsesRouter(options))],
  ['chatCompletionsRouter', '/v1/chat/completions', () => express().use('/v1', chatCompletionsRouter(options))],
  ['messagesRouter', '/v1/messages', () => express().use('/v1', messagesRouter(options))],
  ['validateMessages', '/v1/responses', () => behind(validateMessages(options))],
  ['injectTools', '/v1/responses', () => behind(injectTools(options))],
  ['loadHistory', '/v1/chat/completions', () => behind(loadHistory(options))],
  ['recordTurn', '/v1/messages', () => behind(recordTurn(options))],
  ['runTools', '/v1/chat/completions', () => behind(runTools({ ...options, handler: answer }))],
  ['guard', '/v1/responses', () => behind(guard({ limits, guards: { input: [block] }, logger: false }))],
  [
    'fetch',
    '/v1/responses',
    () => {
      const handler = openResponses({ ...options, basePath: '/v1' }).fetch;
      // The cast: without further options it makes a server of HTTP/1.
      return createAdaptorServer({ fetch: new Hono().all('/v1/*', ({ req }) => handler(req.raw)).fetch }) as Server;
    },
  ],
];

let app: Listening;
const open: Socket[] = [];

afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await app.close();
});

/** A request that is sent by hand. */
interface Sent {
  readonly socket: Socket;
  /** Everything that has come back, once the condition holds. */
  until(condition: (text: string) => boolean): Promise<string>;
}

function send(path: string, tenant: string, headers: string, bytes: string | Uint8Array): Sent {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1').on('error', () => {});
  open.push(socket);
  let text = '';
  socket.on('data', (data) => {
    text += data;
  });
  const own = `host: app\r\nauthorization: Bearer ${tenant}\r\ncontent-type: application/json\r\n`;
  socket.write(`POST ${path} HTTP/1.1\r\n${own}${headers}\r\n\r\n`);
  socket.write(bytes);
  return {
    socket,
    async until(condition) {
      while (!condition(text)) {
        if (socket.closed) throw new Error(`The connection was closed after: ${text.slice(0, 500)}`);
        await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      }
      return text;
    },
  };
}

const isAnswered = (text: string) => /\r\n\r\n[\s\S]*\}/.test(text);
const statusIn = (text: string) => Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1]);

/** Begins a body of so many bytes, of which only the beginning is sent; resolves once the server has the request. */
async function begin(path: string, tenant: string, bytes: number): Promise<Sent> {
  const taken = once(app.server, 'request');
  const sent = send(path, tenant, `content-length: ${bytes}`, '{"model":"m","input":"');
  await taken;
  await new Promise(setImmediate);
  return sent;
}

/** Whole requests of so many bytes. */
function whole(path: string, tenant: string, bytes: number): Sent {
  const fields = path.endsWith('/responses') ? '"input":"' : '"max_tokens":9,"messages":[{"role":"user","content":"';
  const [front, back] = [`{"model":"m",${fields}`, path.endsWith('/responses') ? '"}' : '"}]}'];
  const body = `${front}${'x'.repeat(bytes - front.length - back.length)}${back}`;
  return send(path, tenant, `content-length: ${bytes}\r\nconnection: close`, body);
}

it.each(READERS)(
  '[G-14] %s refuses a tenant’s further bodies before they are read, and has room for the other tenants’',
  async (_name, path, make) => {
    app = await listening(make());
    const first = await begin(path, 'greedy', 0.4 * BODIES);
    const second = await begin(path, 'greedy', 0.4 * BODIES);
    const refused = await second.until(isAnswered);
    const other = await whole(path, 'other', 0.4 * BODIES).until(isAnswered);
    expect([statusIn(refused), /"code":"(\w+)"/.exec(refused)?.[1], statusIn(other)]).toEqual(
      path.endsWith('/messages') ? [429, undefined, 200] : [429, 'too_many_bodies', 200],
    );
    expect(refused).toMatch(/retry-after: 1\r\n/);
    // The room is free again once the client has gone.
    const closed = new Promise((resolve) => first.socket.once('close', resolve));
    first.socket.destroy();
    await closed;
    let status = 429;
    while (status === 429) status = statusIn(await whole(path, 'greedy', 0.4 * BODIES).until(isAnswered));
    expect(status).toBe(200);
  },
);

describe('a client that expects 100', () => {
  const EXPECT = 'expect: 100-continue\r\nconnection: close\r\n';

  it.each(READERS)(
    '[G-14] is refused by %s without a 100, where its body is too long or has no room',
    async (_, path, make) => {
      app = await listening(make());
      const long = await send(path, 'greedy', `${EXPECT}content-length: 99000000000`, '').until(isAnswered);
      await begin(path, 'greedy', 0.9 * BODIES);
      const crowded = await send(path, 'other', `${EXPECT}content-length: ${0.4 * BODIES}`, '').until(isAnswered);
      expect([statusIn(long), statusIn(crowded)]).toEqual([413, 429]);
    },
  );

  it.each(READERS)('[G-14] gets it from %s once its body is read', async (_, path, make) => {
    app = await listening(make());
    const body = JSON.stringify({
      model: 'm',
      input: 'Hi.',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hi.' }],
    });
    const sent = send(path, 'modest', `${EXPECT}content-length: ${body.length}`, '');
    const first = await sent.until((text) => text.includes('\r\n\r\n'));
    sent.socket.write(body);
    const all = await sent.until(isAnswered);
    expect([first, statusIn(all.slice(first.length))]).toEqual(['HTTP/1.1 100 Continue\r\n\r\n', 200]);
  });

  it('[G-14] gets no 100 where nobody reads, and its connection is closed after the answer', async () => {
    app = await listening(
      express()
        .use('/v1', responsesRouter(options))
        .use((_req, res) => void res.status(401).end('{}')),
    );
    const sent = send('/other', 'a', `expect: 100-continue\r\ncontent-length: 10`, '');
    const text = await sent.until(isAnswered);
    expect([statusIn(text), /connection: close/i.test(text)]).toEqual([401, true]);
  });

  it('[G-14] gets no 100 within an answer that has begun before the body is read', async () => {
    app = await listening(
      express()
        .use('/v1', responsesRouter(options))
        .use((req, res) => {
          res.writeHead(200, { 'content-type': 'application/json' }).write('{"ok":');
          req.on('data', () => {});
          setImmediate(() => res.end('1}'));
        }),
    );
    const text = await send('/other', 'a', `${EXPECT}content-length: 10`, '').until(isAnswered);
    expect([statusIn(text), text.includes('100 Continue')]).toEqual([200, false]);
  });

  it('[G-14] is left to a host that decides itself', async () => {
    app = await listening(express().use('/v1', responsesRouter(options)));
    app.server.on('checkContinue', (_req, res) => {
      res.writeContinue();
      res.writeHead(417).end('{}');
    });
    const text = await send('/v1/responses', 'a', `expect: 100-continue\r\ncontent-length: 10`, '').until((all) =>
      all.includes('417'),
    );
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 417 /);
  });
});

describe('clients that do not read', () => {
  const hosts = ['Express', 'a Web handler'] as const;

  it.each(hosts)(
    '[G-14] of %s are cut off where bodies need what is held for them, those of the tenant with most first',
    async (host) => {
      // Hono prints why the answer ends.
      const prints = jest.spyOn(console, 'error').mockImplementation(() => {});
      const model = endlessModel();
      const own = { ...options, upstream: model.upstream, store: memoryStore() };
      const handler = openResponses({ ...own, basePath: '/v1' }).fetch;
      // The cast: as above.
      const web = createAdaptorServer({
        fetch: new Hono().all('/v1/*', ({ req }) => handler(req.raw)).fetch,
      }) as Server;
      app = await listening(host === 'Express' ? express().use('/v1', responsesRouter(own)) : web);
      // Seen from here: a client that does not read does not see its end.
      const cut: (number | undefined)[] = [];
      const first = new Promise<void>((resolve) => {
        app.server.on('connection', (socket: Socket) => {
          const { remotePort } = socket;
          socket.once('close', () => {
            cut.push(remotePort);
            resolve();
          });
        });
      });
      const body = JSON.stringify({ model: 'm', input: 'x'.repeat(0.1 * BODIES), stream: true, store: false });
      const unread = async (tenant: string) => {
        const { socket, until } = send('/v1/responses', tenant, `content-length: ${body.length}`, body);
        await until((text) => text.includes('response.created'));
        socket.pause();
        await takenInAll(model);
        return socket;
      };
      const [greedy, modest, also] = [await unread('greedy'), await unread('modest'), await unread('greedy')];
      expect(cut).toEqual([]);
      // There is room for it beside two of them.
      const { socket } = await begin('/v1/responses', 'other', 0.35 * BODIES);
      await first;
      for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      const ports = [greedy, also].map(({ localPort }) => localPort);
      expect([cut.length, ports.includes(cut[0]), cut.includes(modest.localPort), socket.closed]).toEqual([
        1,
        true,
        false,
        false,
      ]);
      prints.mockRestore();
    },
  );

  it('[G-14] are counted for whole answers, too', async () => {
    // More than the sockets of both sides take.
    const text = 'x'.repeat(30 * BODIES);
    const long: Upstream = {
      ...upstream,
      stream: () => ({
        async *[Symbol.asyncIterator]() {
          yield [{ type: 'text-delta', text } as const, { type: 'finish', reason: 'stop' } as const];
        },
      }),
    };
    const store = memoryStore();
    app = await listening(
      express().use(
        '/v1',
        responsesRouter({
          ...options,
          upstream: long,
          store,
          limits: { request: { bodiesBytes: 2 * text.length }, model: { outputBytes: 2 * text.length } },
        }),
      ),
    );
    const body = JSON.stringify({ model: 'm', input: 'Hi.' });
    const ask = () => send('/v1/responses', 'idle', `content-length: ${body.length}`, body).socket.pause();
    // The clients close nothing.
    const cut = new Promise((resolve) =>
      app.server.on('connection', (socket) => socket.once('close', () => resolve('cut off'))),
    );
    const clients = [ask(), ask(), ask()];
    expect([await cut, clients.map(({ destroyed }) => destroyed)]).toEqual(['cut off', [false, false, false]]);
  });
});

describe('a body while it arrives', () => {
  const headers = (named: Readonly<Record<string, string>>) =>
    new Headers({ 'content-type': 'application/json', ...named });
  const bounds = { bodyBytes: 500_000, bodyValues: 1000, bodiesBytes: 1_000_000 };
  const json = Buffer.from(JSON.stringify('x'.repeat(400_000)));

  it('[G-14] takes its share as it grows, where it is not announced', () => {
    const body = () => new ArrivingBody(headers({}), bounds, () => 'greedy');
    const [one, two, three] = [body(), body(), body()];
    one.add(json);
    expect(() => two.add(json)).toThrow(expect.objectContaining({ code: 'too_many_bodies' }));
    one.close();
    three.add(json);
    three.close();
  });

  it('[G-14] takes its share as it inflates', async () => {
    const small = gzipSync(json);
    const gzip = () => new ArrivingBody(headers({ 'content-encoding': 'gzip' }), bounds, () => 'greedy');
    const [one, two] = [gzip(), gzip()];
    one.add(small);
    two.add(small);
    expect((await one.whole()).value).toBe(JSON.parse(String(json)));
    await expect(two.whole()).rejects.toMatchObject({ code: 'too_many_bodies' });
    for (const each of [one, two]) each.close();
  });

  it('[G-14] is whole in whatever pieces it comes, and keeps no object for each', async () => {
    const bytes = Buffer.from(JSON.stringify('Grüße, '.repeat(20_000)));
    for (const length of [1, 7, 1000, 64 * 1024, 65 * 1024, bytes.length]) {
      const body = new ArrivingBody(headers({}), bounds, () => 'a');
      for (let at = 0; at < bytes.length; at += length) body.add(bytes.subarray(at, at + length));
      expect(body.pieceCount).toBeLessThan(10);
      expect((await body.whole()).value).toBe('Grüße, '.repeat(20_000));
      body.close();
    }
  });

  it('[G-14] that is longer than all together may be is too large', () => {
    const long = () =>
      new ArrivingBody(headers({ 'content-length': '3000' }), { ...bounds, bodiesBytes: 2000 }, () => 'a');
    expect(long).toThrow(expect.objectContaining({ code: 'request_too_large' }));
  });
});
