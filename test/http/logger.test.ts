/** What a host with a logger reads: each failure of its server as one line with fields, and no text of anybody else. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  type Logger,
  memoryStore,
  type RouterOptions,
  runTools,
} from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { type FakeUpstream, startFakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { sqliteDrivers } from '../stores/sqlite-drivers.ts';
import { type App, startApp } from '../support/app.ts';
import { NOBODY } from '../support/listening.ts';
import { ask } from './client.ts';

type Line = readonly [level: string, message: string, fields: Readonly<Record<string, unknown>>];

let fake: FakeUpstream;
let app: App | undefined;
let lines: Line[] = [];
let logger: Logger;

beforeEach(async () => {
  fake = await startFakeUpstream();
  lines = [];
  logger = listening();
  jest.spyOn(process, 'emitWarning').mockImplementation(((message: string) => {
    lines.push(['warning', message, {}]);
  }) as typeof process.emitWarning);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await app?.close();
  app = undefined;
  await fake.close();
});

/** A logger of each test, so that none is quiet because another one logged; it wants no debug lines. */
function listening(): Logger & { isLevelEnabled(level: string): boolean } {
  const at = (level: string) => (message: string, fields: Line[2]) => void lines.push([level, message, fields]);
  return {
    debug: at('debug'),
    info: () => {},
    warn: at('warn'),
    error: at('error'),
    isLevelEnabled: (level) => level !== 'debug',
  };
}

async function asked(options: RouterOptions, body = {}): Promise<number> {
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'secret-api-key', retries: 0 });
  app = await startApp({ options: { upstream, logger, ...options } });
  const response = await ask(app.url, body, { headers: { 'x-request-id': 'req_1' } });
  await response.text();
  return response.status;
}

const SEE = 'See express-open-responses/docs/errors.md';
const RESPONSE_ID = /^resp_[0-9a-f]{32}$/;
const hostOf = (url: string) => new URL(url).host;

describe('one line that reports what to do', () => {
  it('reports for a dead model server which address to look at', async () => {
    const { url: origin } = NOBODY;
    const upstream = chatCompletionsUpstream({
      baseURL: `${origin}/secret-path/v1?key=secret`,
      apiKey: 'k',
      retries: 0,
    });
    const status = await asked({ upstream });
    expect([status, lines]).toEqual([
      502,
      [
        [
          'error',
          `The model server could not be reached. Is the model server running at ${origin}? If it is elsewhere, set baseURL (or OPENAI_BASE_URL) to its address. ${SEE}#upstream_unavailable.`,
          {
            code: 'upstream_unavailable',
            status: 502,
            requestId: 'req_1',
            responseId: expect.stringMatching(RESPONSE_ID),
            upstream: hostOf(origin),
            cause: 'ECONNREFUSED',
          },
        ],
      ],
    ]);
  });

  it.each([
    [
      'its own key',
      { apiKey: 'secret-api-key' },
      "Set apiKey (or OPENAI_API_KEY, where baseURL is not set) to a key that ORIGIN accepts: the one that is set is refused, and the client's own key is not forwarded.",
    ],
    [
      'no key',
      { apiKey: '' },
      "Set apiKey (or OPENAI_API_KEY, where baseURL is not set) to a key that ORIGIN accepts: no key is sent now, and the client's own key is not forwarded.",
    ],
    [
      "the client's key",
      { forwardHeaders: ['Authorization'] },
      "The refused key is the client's own, which forwardHeaders passes on; set apiKey (or OPENAI_API_KEY, where baseURL is not set) to use one of yours.",
    ],
    [
      'the key of a function',
      { headers: () => ({ authorization: 'Bearer secret-of-function' }) },
      'Check the key that your function headers returns for this client, or set apiKey (or OPENAI_API_KEY, where baseURL is not set) to a key that ORIGIN accepts.',
    ],
  ])('reports whose a refused key is: %s', async (_, options, advice) => {
    fake.reply({ status: 401, body: JSON.stringify({ error: { message: 'Bad key secret-api-key.' } }) });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, retries: 0, ...options });
    const status = await asked({ upstream });
    const origin = new URL(fake.baseURL).origin;
    expect([status, lines]).toEqual([
      401,
      [
        [
          'error',
          `The model server refused the API key. ${advice.replace('ORIGIN', origin)} ${SEE}#invalid_api_key.`,
          {
            code: 'invalid_api_key',
            status: 401,
            requestId: 'req_1',
            responseId: expect.stringMatching(RESPONSE_ID),
            upstream: hostOf(fake.baseURL),
          },
        ],
      ],
    ]);
  });

  it.each(sqliteDrivers.filter(({ open }) => open))('reports a full disk: SQLite with $name', async ({ open }) => {
    const folder = mkdtempSync(join(tmpdir(), 'full-'));
    const database = open?.(join(folder, 'responses.db'));
    if (!database) throw new Error('The driver is absent.');
    const store = sqliteStore({ database });
    store.setup();
    const [{ page_count: pages } = { page_count: 0 }] = database.prepare('PRAGMA page_count').all() as [
      { page_count: number },
    ];
    database.exec(`PRAGMA max_page_count = ${pages}`);
    await asked({ store }, { input: 'x'.repeat(100_000) });
    database.close();
    rmSync(folder, { recursive: true });
    expect(lines).toEqual([
      [
        'error',
        `The store of responses could not write: its disk is full. Free space on the disk of the store, or let the store keep less. ${SEE}#store_error.`,
        {
          code: 'store_error',
          status: 500,
          requestId: 'req_1',
          responseId: expect.stringMatching(/^resp_/),
          cause: 'SQLITE_FULL',
        },
      ],
    ]);
  });

  it('reports where a fault of unknown origin is, and not its message', async () => {
    const upstream = { name: 'broken', stream: () => broken() };
    function broken(): never {
      throw new RangeError('the prompt "my secret plan"\n    at forged (line)');
    }
    await asked({ upstream });
    const [[level, message, fields] = []] = lines;
    expect([lines.length, level, message]).toEqual([
      1,
      'error',
      `The server had an error of unknown origin. Look at the cause: a function of your own threw, or this package has a bug; please report it. ${SEE}#server_error.`,
    ]);
    expect(fields).toMatchObject({ code: 'server_error', status: 500, cause: 'RangeError' });
    expect(fields?.at).toEqual(expect.arrayContaining([expect.stringMatching(/^broken \(.*logger\.test\.ts/)]));
    expect(JSON.stringify(lines)).not.toMatch(/secret plan|forged/);
  });

  it('distinguishes a model server that reports it is not available from one that cannot be reached', async () => {
    fake.reply({ status: 503, body: JSON.stringify({ error: { message: 'Loading model' } }) });
    await asked({});
    expect(lines.map(([level, message]) => [level, message])).toEqual([
      [
        'error',
        `The model server answered that it is not available. Check whether it is overloaded, or still loads its model. ${SEE}#upstream_unavailable.`,
      ],
    ]);
  });

  it('reports a limit of the host as a warning, since nothing is broken', async () => {
    fake.reply({ body: textStream('x'.repeat(100)) });
    await asked({ limits: { model: { outputBytes: 10 } } }, { stream: true });
    expect(lines.map(([level, message]) => [level, message])).toEqual([
      [
        'warn',
        `The model wrote more than a limit allows. Raise limits.model.outputBytes if answers may be so long; the arguments of one call may always have 1 MiB. ${SEE}#output_too_large.`,
      ],
    ]);
  });
});

describe('a line', () => {
  const secrets = ['my-secret-prompt', 'secret-api-key', 'secret-client-key', 'secret-header', 'secret-answer'];

  it.each([
    ['500 that repeats everything', { status: 500 }],
    ['401 that repeats everything', { status: 401 }],
    ['code that repeats everything', { status: 500, code: secrets.join(' ') }],
    ['page that repeats everything', { status: 200, page: true }],
  ])(
    'has no text of a model server: %s',
    async (_, { status, code, page }: { status: number; code?: string; page?: boolean }) => {
      const repeated = secrets.join(' ');
      const body = page
        ? `<html>${repeated}</html>`
        : JSON.stringify({ error: { message: repeated, code, type: repeated } });
      fake.reply({ status, body, ...(page ? { headers: { 'content-type': 'text/html' } } : {}) });
      const upstream = chatCompletionsUpstream({
        baseURL: `${fake.baseURL}?key=secret-query`,
        apiKey: 'secret-api-key',
        headers: { 'x-own': 'secret-header' },
        retries: 0,
      });
      await asked({ upstream }, { input: 'my-secret-prompt' });
      expect(lines).toHaveLength(1);
      for (const secret of [...secrets, 'secret-query']) expect(JSON.stringify(lines)).not.toContain(secret);
    },
  );

  it('has no text of a store, nor of a hook that throws', async () => {
    const fail = () => Promise.reject(new Error('cannot store my-secret-prompt'));
    const hooks = {
      onRequest: () => {
        throw new Error('cannot take my-secret-prompt');
      },
    };
    await asked({ store: { ...memoryStore(), put: fail }, hooks }, { input: 'my-secret-prompt' });
    expect(lines.map(([level, message]) => [level, message])).toEqual([
      ['warn', 'hooks.onRequest threw, which affected no request.'],
      [
        'error',
        `The store of responses, or the queue of those in the background, failed. Check that its database is running and not overloaded, and that this process may write to it. ${SEE}#store_error.`,
      ],
    ]);
    expect(JSON.stringify(lines)).not.toContain('my-secret-prompt');
  });

  it('is not written for what a client did wrong', async () => {
    await asked({}, { temperature: 7 });
    await ask(app?.url ?? '', { previous_response_id: 'resp_none' });
    expect(lines).toEqual([]);
  });

  it('comes once a second of each code, and reports how many were left out', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(1_000_000);
    fake.reply({ status: 500, body: '{}' });
    await asked({});
    for (let more = 0; more < 2; more += 1) await (await ask(app?.url ?? '', {})).text();
    jest.mocked(performance.now).mockReturnValue(1_001_000);
    await (await ask(app?.url ?? '', {})).text();
    expect(lines.map(([, , { code, suppressed }]) => [code, suppressed])).toEqual([
      ['upstream_error', undefined],
      ['upstream_error', 2],
    ]);
  });
});

it('a logger that throws fails no request', async () => {
  const broken = () => {
    throw new Error('broken pipe');
  };
  logger = { debug: broken, info: broken, warn: broken, error: broken };
  const status = await asked({});
  fake.reply({ status: 500, body: '{}' });
  const failed = await ask(app?.url ?? '', {});
  expect([status, failed.status, await failed.json()]).toMatchObject([200, 500, { error: { code: 'upstream_error' } }]);
});

it('logger: false silences what would be warned of', async () => {
  fake.reply({ status: 500, body: '{}' });
  const hooks = {
    onResponse: () => {
      throw new Error('later');
    },
  };
  const status = await asked({ logger: false, hooks });
  expect([status, lines]).toEqual([500, []]);
});

it('hooks.onError is called beside the logger, which it does not replace', async () => {
  fake.reply({ status: 500, body: '{}' });
  const reported: string[] = [];
  await asked({ hooks: { onError: ({ code }) => void reported.push(code) } });
  expect([reported, lines.length]).toEqual([['upstream_error'], 1]);
});

it('hooks of a class keep their object', async () => {
  class Counter {
    #responses = 0;
    onResponse() {
      this.#responses += 1;
    }
    get responses() {
      return this.#responses;
    }
  }
  const hooks = new Counter();
  await asked({ hooks });
  expect([hooks.responses, lines]).toEqual([1, []]);
});

describe('the logger of', () => {
  it('chatCompletionsRouter and runTools receives the same lines', async () => {
    const { default: express } = await import('express');
    fake.reply({ status: 500, body: '{}' });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
    const tools = functionTools({ time: { description: 'The time.', execute: () => 'noon' } });
    const server = express()
      .use('/router', chatCompletionsRouter({ upstream, logger: listening() }))
      .post('/tools/chat/completions', runTools({ upstream, tools, logger: listening() }))
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    for (const path of ['router', 'tools']) {
      const response = await fetch(`http://127.0.0.1:${port}/${path}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-request-id': path },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
      });
      await response.text();
    }
    await upstream.close?.();
    await new Promise((resolve) => server.close(resolve).closeAllConnections());
    expect(lines.map(([level, , { code, requestId }]) => [level, code, requestId])).toEqual([
      ['error', 'upstream_error', 'router'],
      ['error', 'upstream_error', 'tools'],
    ]);
  });
});

it('a tool that fails shows its text to the model alone', async () => {
  const tools = functionTools({
    time: {
      description: 'The time.',
      execute: () => {
        throw new Error('no my-secret-result');
      },
    },
  });
  fake.reply({ body: toolCallStream([{ id: 'c1', name: 'time', arguments: '{}' }]) }, { body: textStream('Noon.') });
  await asked({ tools });
  expect(JSON.stringify(lines)).not.toContain('my-secret-result');
});
