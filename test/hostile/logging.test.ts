/** Attacks on the host's log: content that must not get in, floods, loggers that throw, and disks that are really full. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { fileStore } from '../../examples/express/file-store.ts';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  functionTools,
  type Logger,
  memoryStore,
  type ResponseStore,
  type RouterOptions,
  responsesRouter,
} from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import {
  chatChunk,
  chatCompletion,
  type FakeReply,
  type FakeResponder,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../src/testing/index.ts';
import { databaseFile, sqliteDrivers } from '../stores/sqlite-drivers.ts';
import { listening as served } from '../support/listening.ts';
import { describeWhere } from '../support/skipping.ts';
import { tally } from './tally.ts';

const { tried } = tally('logging');

type Line = readonly [level: string, message: string, fields: Readonly<Record<string, unknown>>];

let fake: FakeUpstream;
let lines: Line[] = [];
let closing: (() => unknown)[] = [];

beforeEach(async () => {
  fake = await startFakeUpstream();
  lines = [];
  closing = [() => fake.close()];
});

afterEach(async () => {
  for (const close of closing.reverse()) await close();
});

const at = (level: string) => (message: string, fields: Line[2]) => void lines.push([level, message, fields]);

/** A new object for each app, since each logger may write one line of each code at once. */
const listening = (): Logger => ({ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') });

/** Both routers on one app. */
async function start(options: RouterOptions = {}) {
  const upstream = chatCompletionsUpstream({
    baseURL: `${fake.baseURL}?key=S3CRET-query`,
    apiKey: 'S3CRET-api-key',
    headers: { 'x-tenant': 'S3CRET-own-header' },
    forwardHeaders: ['x-forwarded'],
    retries: 0,
  });
  const all = { upstream, store: memoryStore(), logger: listening(), ...options };
  const router = responsesRouter(all);
  const { url, close } = await served(express().use(router, chatCompletionsRouter(all)));
  closing.push(() => upstream.close?.(), close);
  return { url, router };
}

async function post(url: string, body: unknown): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    authorization: 'Bearer S3CRET-client-key',
    cookie: 'session=S3CRET-cookie',
    'x-forwarded': 'S3CRET-forwarded',
    'x-request-id': 'not valid: S3CRET-id',
  };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  await response.text().catch(() => {});
  return response.status;
}

const error = { message: 'S3CRET-error', code: 'S3CRET code', type: 'S3CRET_error', param: 'S3CRET-param' };
const call = { id: 'S3CRET-call', name: 'look', arguments: '{"at":"S3CRET-argument"}' };
const ANSWERS: readonly FakeReply[] = [
  { body: textStream('S3CRET-answer') },
  { body: chatCompletion('S3CRET-answer') },
  { body: chatChunk({ content: 'S3CRET-answer' }) },
  { body: chatChunk({ content: 'S3CRET-answer' }), cutAfterBytes: 40 },
  { body: 'data: S3CRET-not-json\n\n' },
  { body: '<html>S3CRET-page</html>', headers: { 'content-type': 'text/html' } },
  { body: '', status: 302, headers: { location: 'http://127.0.0.1:9/S3CRET-path?S3CRET' } },
  { body: `data: ${JSON.stringify({ error })}\n\n` },
  { body: toolCallStream([{ ...call, name: 'S3CRET-tool' }]) },
  ...[400, 401, 403, 404, 413, 422, 429, 500, 502, 503, 529].map((status) => ({
    status,
    body: JSON.stringify({ error }),
  })),
  ...[400, 500].map((status) => ({ status, body: 'S3CRET-text' })),
  { reset: 'before-headers' },
];

/** Calls the tool first. */
function firstTool(answer: FakeReply): FakeResponder {
  return ({ body }) => (JSON.stringify(body).includes('S3CRET-call') ? answer : { body: toolCallStream([call]) });
}

describe('a log at debug', () => {
  it('contains no content of a client, a model server, a tool or a store', async () => {
    const tools = functionTools({
      look: {
        description: 'S3CRET-description',
        execute: ({ at: place }: { at?: unknown }) => {
          if (Math.random() < 0.5) throw new Error(`S3CRET-tool-error ${place}`);
          return `S3CRET-result ${place}`;
        },
      },
    });
    const kept = memoryStore();
    const broken: ResponseStore = { ...kept, put: () => Promise.reject(new Error('S3CRET-store-error')) };
    for (const store of [kept, broken]) {
      for (const answer of ANSWERS) {
        const { url } = await start({ store, tools });
        fake.reply(firstTool(answer));
        for (const stream of [true, false]) {
          const asks = [
            {
              path: '/responses',
              body: { model: 'm', stream, input: 'S3CRET-prompt', instructions: 'S3CRET', metadata: { a: 'S3CRET' } },
            },
            {
              path: '/chat/completions',
              body: { model: 'm', stream, messages: [{ role: 'user', content: 'S3CRET-prompt' }] },
            },
            {
              path: '/responses',
              body: { model: 'm', stream, input: [{ type: 'S3CRET-type', S3CRET: 1 }], 'S3CRET-field': 1 },
            },
            { path: '/responses', body: { model: 'm', stream, input: 'S3CRET', previous_response_id: 'resp_S3CRET' } },
          ];
          for (const { path, body } of asks) {
            await post(`${url}${path}`, body);
            tried('requests full of secrets, whose lines hold none');
          }
        }
      }
    }
    const levels = new Set(lines.map(([level]) => level));
    expect([lines.length > 1000, [...levels].toSorted()]).toEqual([true, ['debug', 'error', 'info']]);
    expect(lines.filter((line) => /S3CRET/.test(JSON.stringify(line)))).toEqual([]);
  });

  it('is not flooded by codes that a model server invents', async () => {
    const { url } = await start({ logger: { ...listening(), debug() {} } });
    let made = 0;
    for (let times = 0; times < 300; times += 1) {
      made += 1;
      fake.reply({ status: 500, body: JSON.stringify({ error: { message: 'No.', code: `made_up_${made}` } }) });
      await post(`${url}/responses`, { model: 'm', input: 'Hi' });
    }
    tried('codes that a model server made up', made);
    // 64 codes of their own, and one line a second of all others.
    expect(lines.length).toBeLessThan(64 + 60);
  });
});

describe('a logger that breaks', () => {
  const fail = () => {
    throw new Error('EPIPE');
  };
  it.each<[string, Logger]>([
    ['throws', { debug: fail, info: fail, warn: fail, error: fail }],
    [
      'rejects',
      { debug: async () => fail(), info: async () => fail(), warn: async () => fail(), error: async () => fail() },
    ],
    [
      'has a level that throws',
      Object.assign({ debug: fail, info: fail, warn: fail, error: fail }, { isLevelEnabled: fail, bindings: fail }),
    ],
  ])('fails no request: one that %s', async (_, logger) => {
    const { url, router } = await start({ logger });
    const seen: number[] = [];
    for (const status of [200, 500, 401]) {
      fake.reply({ status, body: status === 200 ? textStream('Hi.') : JSON.stringify({ error }) });
      for (const path of ['/responses', '/chat/completions']) {
        seen.push(
          await post(`${url}${path}`, {
            model: 'm',
            stream: true,
            input: 'Hi',
            messages: [{ role: 'user', content: 'Hi' }],
          }),
        );
        tried('requests with a logger that breaks');
      }
    }
    expect([seen, (await router.status()).store.ok]).toEqual([[200, 200, 500, 500, 401, 401], true]);
  });
});

it('a status that is requested a thousand times asks a hanging store only once', async () => {
  let asked = 0;
  const get = () => {
    asked += 1;
    return new Promise<undefined>(() => {});
  };
  const { router } = await start({ store: { ...memoryStore(), get }, limits: { request: { storeTimeoutMs: 3000 } } });
  const statuses = await Promise.all(Array.from({ length: 1000 }, () => router.status()));
  tried('statuses at the same time', statuses.length);
  expect([asked, statuses.every(({ status }) => status === 'degraded')]).toEqual([1, true]);
});

const canMount = process.platform === 'linux' && process.getuid?.() === 0;
const describeMounted = describeWhere(canMount, 'no file system can be mounted here');
const WHY = canMount ? '' : ' (skipped: only root on Linux may mount a small one)';

describeMounted(`a disk that is really full${WHY}`, () => {
  let disk: string;

  beforeEach(() => {
    disk = mkdtempSync(join(tmpdir(), 'small-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk]);
    closing.push(() => {
      // Lazily: libsql keeps the file open until its statements are collected.
      execFileSync('umount', ['-l', disk]);
      rmSync(disk, { recursive: true });
    });
  });

  /** Fills the rest of the disk, and returns a function that frees it. */
  function fill(): () => void {
    const file = join(disk, 'filler');
    try {
      writeFileSync(file, Buffer.alloc(1024 * 1024));
    } catch {
      // The disk is full now.
    }
    return () => unlinkSync(file);
  }

  const open = sqliteDrivers.find((driver) => driver.open)?.open;
  it.each<[string, (() => { store: ResponseStore; close(): void }) | undefined, RegExp]>([
    ['the file store of the example', () => ({ store: fileStore(join(disk, 'kept')), close() {} }), /^ENOSPC$/],
    [
      'SQLite',
      open &&
        (() => {
          const database = open(join(disk, 'responses.db'));
          return { store: sqliteStore({ database }), close: () => database.close() };
        }),
      /^(SQLITE_FULL|ENOSPC)$/,
    ],
  ])('is reported in one line, and the router recovers: %s', async (_, create, cause) => {
    if (!create) return;
    const { store, close } = create();
    closing.push(close);
    const { url, router } = await start({ store, logger: { ...listening(), debug() {}, info() {} } });
    fake.reply({ body: textStream('Hi.') });
    const ask = () => post(`${url}/responses`, { model: 'm', input: 'x'.repeat(60_000) });
    await ask();
    const free = fill();
    await ask();
    const full = await router.status();
    free();
    await ask();
    const after = await router.status();
    tried('full disks');
    expect([lines, full.status, full.store.ok, after.status]).toEqual([
      [
        [
          'error',
          'The store of responses could not write: its disk is full. Free space on the disk of the store, or let the store keep less. See express-open-responses/docs/errors.md#store_error.',
          expect.objectContaining({ code: 'store_error', cause: expect.stringMatching(cause) }),
        ],
      ],
      'degraded',
      false,
      'ok',
    ]);
  });
});

it('a database at its size limit behaves in the same way', async () => {
  const { file, remove } = databaseFile();
  const database = sqliteDrivers.find((driver) => driver.open)?.open?.(file);
  if (!database) throw new Error('There is no driver.');
  closing.push(() => {
    database.close();
    remove();
  });
  const store = sqliteStore({ database });
  store.setup();
  database.exec('PRAGMA max_page_count = 40');
  const { url } = await start({ store, logger: { ...listening(), debug() {}, info() {} } });
  fake.reply({ body: textStream('Hi.') });
  for (let times = 0; times < 50; times += 1) {
    await post(`${url}/responses`, { model: 'm', input: 'x'.repeat(60_000) });
    tried('puts into a database that may not grow');
  }
  const causes = new Set(lines.map(([, , fields]) => fields.cause));
  expect([...causes]).toEqual(['SQLITE_FULL']);
});
