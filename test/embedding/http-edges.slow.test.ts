/** The middlewares against HTTP as it comes: odd bodies, other methods, clients that leave or do not read. */

import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import {
  functionTools,
  heartbeat,
  injectTools,
  loadHistory,
  memoryStore,
  type ResponseStore,
  recordTurn,
  runTools,
  validateMessages,
} from '../../src/index.ts';
import { chatChunk, type FakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { deferred } from '../engine/tools/support.ts';
import { unreadClient } from '../support/unread-client.ts';
import { weather } from './cases.ts';
import { bareExpress, parsingExpress, type Running, type Stage, startHost } from './hosts.ts';
import { bytesRequested, outcome, post, startModelServer } from './model-server.ts';
import { fetchProxy, httpProxy, type ProxyMaker } from './proxies.ts';

const BODY = { model: 'm', messages: [{ role: 'user', content: 'Hi.' }] };

/** Every middleware, in the order of docs/middlewares.md. */
function everything(store: ResponseStore = memoryStore()): readonly Stage[] {
  const options = { store, tools: weather };
  return [heartbeat(), recordTurn(options), loadHistory(options), injectTools(options), validateMessages(options)];
}

let fake: FakeUpstream;
let app: Running;
beforeEach(async () => {
  fake = await startModelServer();
});
afterEach(() => Promise.all([app.close(), fake.close()]));

describe('bodies', () => {
  it('[P-11] a compressed body reaches the proxy as plain JSON', async () => {
    app = await startHost(bareExpress, [...everything(), httpProxy(fake.baseURL)]);
    const zipped = gzipSync(JSON.stringify(BODY));
    const { status } = await post(app.url, zipped, { 'content-encoding': 'gzip' });
    const [requested] = fake.requests;
    const [bytes] = bytesRequested(fake);
    expect([status, requested?.headers['content-encoding'], JSON.parse(bytes ?? '').messages]).toEqual([
      200,
      undefined,
      BODY.messages,
    ]);
  });

  it('[X-02] a proxy that passes on the client’s headers and the new body sends no length of the old one', async () => {
    app = await startHost(parsingExpress, [injectTools({ tools: weather }), headerProxy(fake.baseURL)]);
    const { status } = await post(app.url, BODY);
    expect([status, bytesRequested(fake).map((text) => JSON.parse(text).tools.length)]).toEqual([200, [1]]);
  });

  it('[P-11] a compressed body is measured by what is in it, and answered in the envelope', async () => {
    app = await startHost(bareExpress, [
      injectTools({ limits: { request: { bodyBytes: 1000 } } }),
      fetchProxy(fake.baseURL),
    ]);
    const bomb = gzipSync(JSON.stringify({ model: 'm', input: 'x'.repeat(100_000) }));
    const answer = await post(app.url, bomb, { 'content-encoding': 'gzip' });
    expect([outcome(answer), fake.requests.length, app.failures]).toEqual(['413 request_too_large', 0, []]);
  });

  it('[X-01] forms, other methods and other paths pass untouched, and the next handler can still read them', async () => {
    const seen: unknown[] = [];
    const reader: Stage = async (req: IncomingMessage & { body?: unknown }, res: ServerResponse) => {
      seen.push([req.method, req.body, await text(req)]);
      res.end();
    };
    app = await startHost(bareExpress, [...everything(), runTools({ tools: weather, handler: reader })]);
    const send = (method: string, headers: Record<string, string>, body?: string) =>
      fetch(`${app.url}/upload`, { method, headers, ...(body ? { body } : {}) }).then((answer) => answer.text());
    await send('POST', { 'content-type': 'multipart/form-data; boundary=x' }, '--x\r\n\r\n{}\r\n--x--');
    await send('POST', { 'content-type': 'text/plain' }, '{"messages":[]}');
    await send('PUT', { 'content-type': 'application/json' }, '{"messages":[]}');
    await send('GET', {});
    await send('DELETE', {});
    expect(seen).toEqual([
      ['POST', undefined, '--x\r\n\r\n{}\r\n--x--'],
      ['POST', undefined, '{"messages":[]}'],
      ['PUT', undefined, '{"messages":[]}'],
      ['GET', undefined, ''],
      ['DELETE', undefined, ''],
    ]);
  });

  it('[X-02] JSON in neither API’s words reaches the handler as it was', async () => {
    const bodies: unknown[] = [];
    const reader: Stage = (req: { body?: unknown }, res: ServerResponse) => {
      bodies.push(req.body);
      res.end();
    };
    app = await startHost(parsingExpress, [...everything(), runTools({ tools: weather, handler: reader })]);
    await post(`${app.url}/v1/embeddings`, { model: 'm', input: 'Hi.' });
    await post(`${app.url}/own`, { hello: 'there' });
    await post(`${app.url}/own`, [1, 2]);
    expect(bodies).toEqual([{ model: 'm', input: 'Hi.' }, { hello: 'there' }, [1, 2]]);
  });
});

/** The simplest proxy of all: every header of the client's, and the body as JSON. */
function headerProxy(baseURL: string): Stage {
  return (req: IncomingMessage & { body?: unknown }, res: ServerResponse) => {
    const requested = request(`${baseURL}/chat/completions`, { method: 'POST', headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    requested.once('error', (error) => res.writeHead(502).end(JSON.stringify({ error: error.message })));
    requested.end(JSON.stringify(req.body));
  };
}

/** Starts a request that its client can end at any time. */
function start(body: unknown): AbortController {
  const left = new AbortController();
  post(app.url, body, {}, left.signal).catch(() => {});
  return left;
}

describe('clients that hang up', () => {
  const proxies: readonly (readonly [string, ProxyMaker])[] = [
    ['http-proxy-middleware', httpProxy],
    ['a bare fetch', fetchProxy],
  ];
  const alone = (proxy: ProxyMaker): readonly Stage[] => [...everything(), proxy(fake.baseURL)];
  const looped = (proxy: ProxyMaker): readonly Stage[] => [
    ...everything(),
    runTools({ tools: weather, handler: proxy(fake.baseURL) }),
  ];

  const setups = proxies.flatMap(([name, proxy]) => [
    [`the stack over ${name}`, () => alone(proxy)] as const,
    [`runTools over ${name}`, () => looped(proxy)] as const,
  ]);

  it.each(setups)('[P-10] %s: before the first byte, the model call ends', async (_name, stages) => {
    fake.reply({ hang: true });
    app = await startHost(parsingExpress, stages());
    const requested = fake.nextRequest();
    const client = start({ ...BODY, stream: true });
    await requested;
    client.abort();
    expect(await fake.closed(0)).toEqual(expect.any(Number));
  });

  it.each(setups)('[P-10] %s: in the middle of the answer, the model call ends', async (_name, stages) => {
    fake.reply({ body: chatChunk({ content: 'Hel' }), stallAfterBytes: 10_000 });
    app = await startHost(parsingExpress, stages());
    const left = new AbortController();
    const answer = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...BODY, stream: true }),
      signal: left.signal,
    });
    await answer.body?.getReader().read();
    left.abort();
    expect(await fake.closed(0)).toEqual(expect.any(Number));
  });

  it('[P-10] runTools: in the second round, the model call ends', async () => {
    fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'weather', arguments: '{}' }]) }, { hang: true });
    app = await startHost(parsingExpress, looped(fetchProxy));
    const client = start({ ...BODY, stream: true });
    while (fake.requests.length < 2) await fake.nextRequest();
    client.abort();
    expect(await fake.closed(1)).toEqual(expect.any(Number));
  });

  it('[P-10] runTools: while a tool runs, the tool is aborted', async () => {
    const abortion = deferred<boolean>();
    const running = deferred();
    const tools = functionTools({
      weather: {
        execute(_args, { signal }) {
          signal.addEventListener('abort', () => abortion.resolve(signal.aborted));
          running.resolve();
          return abortion.promise;
        },
      },
    });
    fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'weather', arguments: '{}' }]) });
    app = await startHost(parsingExpress, [runTools({ tools, handler: fetchProxy(fake.baseURL) })]);
    const client = start({ ...BODY, stream: true });
    await running.promise;
    client.abort();
    expect([await abortion.promise, fake.requests.length, app.failures]).toEqual([true, 1, []]);
  });

  it('[P-10] while the store is asked, nobody asks the model', async () => {
    const inner = memoryStore();
    const gone = deferred();
    const reading = deferred();
    const store: ResponseStore = {
      name: 'slow',
      put: inner.put,
      delete: inner.delete,
      async get(key) {
        reading.resolve();
        await gone.promise;
        return inner.get(key);
      },
    };
    const watch: Stage = (_req, res: ServerResponse, next) => {
      res.once('close', () => gone.resolve());
      next();
    };
    app = await startHost(parsingExpress, [watch, ...everything(store), fetchProxy(fake.baseURL)]);
    const client = start({ ...BODY, previous_response_id: 'resp_none' });
    await reading.promise;
    client.abort();
    await gone.promise;
    const { status } = await post(app.url, BODY);
    expect([status, fake.requests.length, app.failures]).toEqual([200, 1, []]);
  });
});

describe('clients that do not read', () => {
  const PIECE = chatChunk({ content: 'x'.repeat(16_384) });
  const LIMIT = 64 * 1024 * 1024;

  it.each([
    ['the whole stack', (handler: Stage) => [...everything(), handler]],
    [
      'runTools',
      (handler: Stage) => [runTools({ tools: weather, handler, limits: { model: { outputBytes: 2 * LIMIT } } })],
    ],
  ])('[P-10] %s: the handler is made to wait, long before memory is full', async (_name, stages) => {
    let written = 0;
    const handler: Stage = async (_req, res: ServerResponse) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      while (written < LIMIT && !res.destroyed) {
        written += PIECE.length;
        if (!res.write(PIECE)) await once(res, 'drain');
        // As a model's words come: each read of a socket has a turn of its own.
        await nextTurn();
      }
    };
    app = await startHost(parsingExpress, stages(handler));
    const client = unreadClient(app.url, '/', { ...BODY, stream: true });
    for (let quiet = 0, last = -1; quiet < 10; last = written) {
      await pause(20);
      quiet = written > 0 && written === last ? quiet + 1 : 0;
    }
    const held = written;
    client.resume();
    while (written < LIMIT) await pause(20);
    client.destroy();
    expect(held).toBeLessThan(LIMIT / 2);
  });
});

describe('a thousand requests', () => {
  it('[P-10] leave no listener behind, on any connection', async () => {
    const warnings: string[] = [];
    const received = (warning: Error) => warnings.push(String(warning));
    process.on('warning', received);
    const stages = [...everything(), runTools({ tools: weather, handler: fetchProxy(fake.baseURL) })];
    app = await startHost(parsingExpress, stages);
    const counts = new Set<string>();
    app.server.on('request', ({ socket }) => counts.add(countsOf(socket)));
    let turns = 0;
    // Every fourth turn takes a second round.
    fake.reply(({ body }) => ({ body: !hasToolResult(body) && turns++ % 4 === 3 ? CALLING : textStream('Hi.') }));
    const statuses = new Set<number>();
    for (let batch = 0; batch < 50; batch += 1) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(app.url, { ...BODY, stream: true })));
      for (const { status } of answers) statuses.add(status);
    }
    process.off('warning', received);
    expect([[...statuses], counts.size, warnings, fake.requests.length]).toEqual([[200], 1, [], 1250]);
  }, 120_000);
});

const CALLING = toolCallStream([{ id: 'call_1', name: 'weather', arguments: '{}' }]);

function hasToolResult(body: unknown): boolean {
  return (body as { readonly messages: readonly { readonly role: string }[] }).messages.some(
    ({ role }) => role === 'tool',
  );
}

/** How many listeners each event of the socket has. */
function countsOf(socket: IncomingMessage['socket']): string {
  return socket
    .eventNames()
    .map((name) => `${String(name)} ${socket.listenerCount(name)}`)
    .sort()
    .join(', ');
}
