/** `router.status()`, for the host's own health route: what works, from dead stores, tool servers and model servers that are real. */
import { once } from 'node:events';
import { jest } from '@jest/globals';
import express from 'express';
import { createClient } from 'redis';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  memoryStore,
  type ResponseStore,
  type RouterOptions,
  responsesRouter,
} from '../../src/index.ts';
import { traced } from '../../src/observe/otel/index.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { mcpTools } from '../../src/tools/mcp/index.ts';
import { listening } from '../support/listening.ts';
import { type McpHttpServer, startMcpServer } from '../support/mcp-http-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import { freePort } from '../support/services.ts';
import { ask } from './client.ts';

let fake: FakeUpstream;
let closing: (() => unknown)[] = [];

beforeEach(async () => {
  fake = await startFakeUpstream();
  closing = [() => fake.close()];
});

afterEach(async () => {
  jest.restoreAllMocks();
  for (const close of closing.reverse()) await close();
});

/** An app whose health route shows the status, as a host would write it. */
async function start(options: RouterOptions = {}) {
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'secret-key', retries: 0 });
  const all = { upstream, store: memoryStore(), logger: false as const, ...options };
  const router = responsesRouter(all);
  const chat = chatCompletionsRouter(all);
  const app = express()
    .use('/v1', router, chat)
    .get('/health', async (_req, res) => {
      const status = await router.status();
      res.status(status.status === 'ok' ? 200 : 503).json(status);
    });
  const { url, close } = await listening(app);
  closing.push(() => upstream.close?.(), close);
  return { url, router, chat };
}

const whole = (of: object = {}) => ({
  status: 'ok',
  version: '0.1.0',
  upstream: {
    kind: 'chat-completions',
    origin: new URL(fake.baseURL).origin,
    ok: true,
    lastError: null,
    lastSuccessAt: null,
  },
  store: { kind: 'memory', ok: true, lastError: null },
  mcp: [],
  responses: { inFlight: 0, background: 0, waiting: 0 },
  ...of,
});

describe('the status', () => {
  it('is plain JSON for the route of a host, and asks no model', async () => {
    const { url, chat } = await start();
    const health = await fetch(`${url}/health`);
    expect([health.status, await health.json(), await chat.status()]).toEqual([200, whole(), whole()]);
    expect(fake.requests).toEqual([]);
  });

  it('holds no secret and nothing of a tenant', async () => {
    const { url, router } = await start();
    fake.reply({ status: 500, body: JSON.stringify({ error: { message: 'secret-prompt', code: 'secret prompt' } }) });
    const headers = { authorization: 'Bearer secret-client', 'x-request-id': 'secret-request' };
    await (await ask(`${url}/v1`, { input: 'secret-prompt', model: 'secret-model' }, { headers })).text();
    const status = await router.status();
    expect(status.upstream.lastError).toMatchObject({ code: 'other' });
    expect(JSON.stringify(status)).not.toMatch(/secret/);
  });

  it('counts the responses that run, and those in the background', async () => {
    const { url, router } = await start();
    fake.reply({ hang: true });
    const asked = [fake.nextRequest(), fake.nextRequest()];
    const hung = new AbortController();
    const waiting = ask(`${url}/v1`, {}, { signal: hung.signal }).catch(() => {});
    await (await ask(`${url}/v1`, { background: true })).text();
    await Promise.all(asked);
    const { responses } = await router.status();
    hung.abort();
    await waiting;
    await router.drain({ timeoutMs: 0 });
    expect(responses).toEqual({ inFlight: 2, background: 1, waiting: 0 });
  });
});

describe('a model server', () => {
  it('that is dead degrades it until it answers again', async () => {
    const port = await freePort();
    const upstream = chatCompletionsUpstream({ baseURL: `http://127.0.0.1:${port}/v1`, retries: 0 });
    const { url, router } = await start({ upstream });
    await (await ask(`${url}/v1`)).text();
    const dead = await router.status();
    const again = await startFakeUpstreamOn(port);
    closing.push(() => again.close());
    await (await ask(`${url}/v1`)).text();
    const alive = await router.status();
    await upstream.close?.();
    expect([dead, alive]).toMatchObject([
      {
        status: 'degraded',
        upstream: {
          origin: `http://127.0.0.1:${port}`,
          ok: false,
          lastError: { code: 'upstream_unavailable', cause: 'ECONNREFUSED' },
        },
      },
      { status: 'ok', upstream: { ok: true, lastSuccessAt: expect.any(Number) } },
    ]);
  });

  it('counts as failing for a minute, since one that gets no requests could not recover', async () => {
    const { url, router } = await start();
    fake.reply({ status: 500, body: '{}' });
    await (await ask(`${url}/v1`)).text();
    const before = await router.status();
    const now = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(now + 60_001);
    const after = await router.status();
    expect([before.status, after.status, after.upstream.lastError?.code]).toEqual(['degraded', 'ok', 'upstream_error']);
  });

  it('is not blamed for what a client did wrong', async () => {
    const { url, router } = await start();
    fake.reply({ status: 400, body: JSON.stringify({ error: { message: 'No.' } }) });
    await (await ask(`${url}/v1`)).text();
    await (await ask(`${url}/v1`, { temperature: 9 })).text();
    expect(await router.status()).toEqual(whole());
  });
});

describe('a store', () => {
  it('that hangs is given up after a second, and asked by one probe however often the status is', async () => {
    const get = jest.fn(() => new Promise<undefined>(() => {}));
    const store: ResponseStore = { ...memoryStore(), name: 'hanging', get };
    const { router } = await start({ store, limits: { request: { storeTimeoutMs: 2500 } } });
    const statuses = await Promise.all(Array.from({ length: 20 }, () => router.status()));
    statuses.push(await router.status());
    expect([statuses.every(({ store, status }) => !store.ok && status === 'degraded'), get.mock.calls.length]).toEqual([
      true,
      1,
    ]);
  });

  it('that throws at once is one that does not work', async () => {
    const get = () => {
      throw new Error('secret');
    };
    const { router } = await start({ store: { ...memoryStore(), get } });
    expect(await router.status()).toEqual(
      whole({ status: 'degraded', store: { kind: 'memory', ok: false, lastError: null } }),
    );
  });

  it('that can be read and not written, as on a full disk, degrades it until a write succeeds', async () => {
    const kept = memoryStore();
    let isFull = true;
    const put: ResponseStore['put'] = (response) => {
      if (isFull) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      return kept.put(response);
    };
    const { url, router } = await start({ store: { ...kept, put } });
    await (await ask(`${url}/v1`)).text();
    const full = await router.status();
    isFull = false;
    await (await ask(`${url}/v1`)).text();
    const { store } = await router.status();
    expect([full.status, full.store, store.ok]).toEqual([
      'degraded',
      { kind: 'memory', ok: false, lastError: { code: 'store_error', cause: 'SQLITE_FULL', at: expect.any(Number) } },
      true,
    ]);
  });
});

describeRedis('Redis', () => {
  it('that dies degrades the status, and its return mends it', async () => {
    const redis = await startRedis();
    const client = createClient({ url: redis.url, socket: { reconnectStrategy: 20 } });
    client.on('error', () => {});
    await client.connect();
    closing.push(() => redis.close());
    closing.push(() => client.destroy());
    const { router } = await start({ store: redisStore({ client }) });
    const before = await router.status();
    redis.pause();
    const paused = await router.status();
    redis.resume();
    await client.ping();
    const after = await router.status();
    expect([before, paused, after].map(({ status, store: { kind, ok } }) => [status, kind, ok])).toEqual([
      ['ok', 'redis', true],
      ['degraded', 'redis', false],
      ['ok', 'redis', true],
    ]);
  });
});

describe('MCP servers', () => {
  let server: McpHttpServer;

  beforeEach(async () => {
    server = await startMcpServer();
    closing.push(() => server.close());
  });

  it('are shown by label with their tools, and a dead one degrades the status', async () => {
    const dead = `http://127.0.0.1:${await freePort()}/mcp?key=secret`;
    const mcp = mcpTools({
      servers: { live: { url: server.url }, dead: { url: dead, headers: { authorization: 'Bearer secret' } } },
      logger: false,
    });
    closing.push(() => mcp.close());
    fake.reply({ body: textStream('Hi.') });
    const { url, router } = await start({ tools: [functionTools({}), traced({ tools: mcp }).tools] });
    const before = await router.status();
    await (await ask(`${url}/v1`)).text();
    const after = await router.status();
    expect([before.status, before.mcp, after.status, after.mcp]).toEqual([
      'ok',
      [
        { label: 'live', state: 'idle', connected: false, tools: 0 },
        { label: 'dead', state: 'idle', connected: false, tools: 0 },
      ],
      'degraded',
      [
        { label: 'live', state: 'ready', connected: true, tools: expect.any(Number) },
        { label: 'dead', state: expect.stringMatching(/^(failed|connecting)$/), connected: false, tools: 0 },
      ],
    ]);
    expect(JSON.stringify(after)).not.toContain('secret');
  });

  it('of a provider whose status is something else are none', async () => {
    const odd = [
      { ...functionTools({}), status: () => 'fine' },
      { ...functionTools({}), status: () => [{ label: 1 }, null] },
      {
        ...functionTools({}),
        status() {
          throw new Error('not yet');
        },
      },
    ];
    // The cast: providers that a host without types may have.
    const { router } = await start({ tools: odd as never });
    expect(await router.status()).toEqual(whole());
  });
});

/** A model server that comes back on its old port. */
async function startFakeUpstreamOn(port: number) {
  const server = express()
    .post('/v1/chat/completions', (_req, res) => void res.type('text/event-stream').send(textStream('Hi.')))
    .listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()) };
}
