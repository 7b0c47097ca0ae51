/** Parts of the host that never answer, and do not heed their signal: the time of a turn ends for them too, and its place is free. */

import express from 'express';
import type { FileStore } from '../../src/files.ts';
import {
  chatCompletionsUpstream,
  memoryStore,
  type OpenResponsesOptions,
  openResponses,
  type ToolProvider,
  type Upstream,
} from '../../src/index.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import { withLimits } from '../support/limits.ts';
import { type Listening, listening } from '../support/listening.ts';
import { HOUR_LONG_SETTINGS } from '../support/patience.ts';

type Options = Partial<OpenResponsesOptions>;

let fake: FakeUpstream;
let app: Listening;
let api: ReturnType<typeof openResponses>;
/** How often a part has been called that does not answer. */
let hung = 0;
/** Lets the parts go on that hang. */
let release: () => void = () => {};
const thrown: unknown[] = [];
const noteThrown = (error: unknown) => void thrown.push(error);

beforeEach(async () => {
  fake = await startFakeUpstream();
  hung = 0;
  process.on('unhandledRejection', noteThrown);
});
afterEach(async () => {
  await app.close();
  await fake.close();
  process.off('unhandledRejection', noteThrown);
  expect(thrown.splice(0)).toEqual([]);
});

/** Never answers, until `release` fails it. */
function hang(): Promise<never> {
  hung += 1;
  return new Promise((_, reject) => {
    release = () => reject(new Error('It failed much later.'));
  });
}

async function start(options: Options, durationMs: number, plainUpstream?: Upstream): Promise<void> {
  const upstream = plainUpstream ?? chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key', retries: 0 });
  api = withLimits({ ...HOUR_LONG_SETTINGS, durationMs, concurrentTurns: 1, queuedTurns: 0 }, (limits) =>
    openResponses({ upstream, store: memoryStore(), logger: false, limits, ...options }),
  );
  app = await listening(express().use('/v1', api.router));
}

function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const init = { method: 'POST', headers, body: JSON.stringify(body), ...(signal ? { signal } : {}) };
  return fetch(`${app.url}/v1${path}`, init);
}

/** Resolves when no turn has a place. */
async function untilIdle(): Promise<void> {
  while ((await api.status()).responses.inFlight > 0) await new Promise(setImmediate);
}

const FILE = `file-${'7'.repeat(32)}`;
const META = { id: FILE, scope: 'anonymous', createdAt: 1, bytes: 3, filename: 'a.txt', purpose: 'user_data' } as const;

/** A store of files whose members are replaced. */
function filesWith(members: Partial<FileStore>): FileStore {
  const files: FileStore = {
    name: 'own',
    put: hang,
    get: () => ({ ...META, contentType: 'text/plain' }),
    read: async () => content([]),
    list: () => ({ files: [], hasMore: false }),
    delete: () => true,
    usage: () => ({ files: 0, bytes: 0 }),
  } as unknown as FileStore;
  return { ...files, ...members };
}

async function* content(then: readonly (() => Promise<never>)[]): AsyncGenerator<Uint8Array> {
  yield Buffer.from('abc');
  for (const next of then) await next();
}

/** A tool that requests name, with a member that hangs. */
function webTools(member: Partial<ToolProvider>): Options {
  const tool = { server: 's', name: 'web_search', requestedBy: 'web_search', parameters: { type: 'object' } };
  return { tools: { name: 'own', list: () => [tool], call: hang, ...member } };
}

const RESPONSES = { model: 'm', input: 'Hi.' };
const MESSAGES = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi.' }] };
const CHAT = { model: 'm', messages: MESSAGES.messages };
const withFile = (part: object) => ({
  ...RESPONSES,
  input: [{ role: 'user', content: [{ type: 'input_file', ...part }] }],
});
const chatFile = { ...CHAT, messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: FILE } }] }] };
const SEARCH = { tools: [{ type: 'web_search' }] };
const REMOTE = { type: 'mcp', server_label: 'x', server_url: 'https://example.com/mcp' };
const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-1.4 x').toString('base64')}`;

type Case = readonly [part: string, path: string, options: () => Options, body: object];

const BEFORE: readonly Case[] = [
  ['prompts', '/responses', () => ({ prompts: hang }), { ...RESPONSES, prompt: { id: 'p' } }],
  ['prompts, counted', '/responses/input_tokens', () => ({ prompts: hang }), { ...RESPONSES, prompt: { id: 'p' } }],
  ['files.get', '/responses', () => ({ files: filesWith({ get: hang }) }), withFile({ file_id: FILE })],
  ['files.read', '/responses', () => ({ files: filesWith({ read: hang }) }), withFile({ file_id: FILE })],
  [
    'the stream of a file',
    '/responses',
    () => ({ files: filesWith({ read: async () => content([hang]) }) }),
    withFile({ file_id: FILE }),
  ],
  ['files.get', '/chat/completions', () => ({ files: filesWith({ get: hang }) }), chatFile],
  [
    'fileFetcher',
    '/responses',
    () => ({ fileFetcher: { fetch: hang } }),
    withFile({ file_url: 'https://example.com/a.txt' }),
  ],
  [
    'documents.read',
    '/responses',
    () => ({ documents: { read: hang } }) as unknown as Options,
    withFile({ filename: 'a.pdf', file_data: PDF }),
  ],
  [
    'remoteMcp.open',
    '/responses',
    () => ({ remoteMcp: { open: hang, close: async () => {} } }),
    { ...RESPONSES, tools: [REMOTE] },
  ],
  ['tools.check', '/responses', () => webTools({ check: hang }), { ...RESPONSES, ...SEARCH }],
  ['tools.about', '/responses', () => webTools({ about: hang }), { ...RESPONSES, ...SEARCH }],
  [
    'tools.check',
    '/messages',
    () => webTools({ check: hang }),
    { ...MESSAGES, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  ],
];

/** An upstream that accepts nothing, and does not heed its signal. */
function hangingUpstream(pieces: readonly string[]): Upstream {
  return {
    name: 'own',
    async *stream() {
      for (const text of pieces) yield [{ type: 'text-delta', text }];
      await hang();
    },
    async *chat() {
      for (const text of pieces)
        yield { whole: false, data: [JSON.stringify({ choices: [{ delta: { content: text } }] })] };
      await hang();
    },
  };
}

const TOO_LONG = 'The response took longer than this server allows.';

/** The status and the message of an error. */
async function errorOf(answer: Response): Promise<readonly unknown[]> {
  const { error } = (await answer.json()) as { readonly error: { readonly message: string } };
  return [answer.status, error.message];
}

/** What hangs fails at last, and the model is not called for it. */
async function expectNothingLater(): Promise<void> {
  release();
  await new Promise(setImmediate);
  expect([hung, fake.requests]).toEqual([1, []]);
}

describe.each(BEFORE)('%s that hangs behind %s', (_, path, options, body) => {
  it('[P-09] is a 504 when the time of the turn is over, whose place is free', async () => {
    await start(options(), 100);
    expect(await errorOf(await post(path, body))).toEqual([504, TOO_LONG]);
    await untilIdle();
    await expectNothingLater();
  });

  it('[P-10] gives the place back when its client leaves', async () => {
    await start(options(), HOUR_LONG_SETTINGS.durationMs);
    const client = new AbortController();
    const answer = post(path, body, client.signal).catch(() => {});
    while (hung === 0) await new Promise(setImmediate);
    client.abort();
    await answer;
    await untilIdle();
    release();
    fake.reply({ body: textStream(['Hi.']) });
    expect((await post('/responses', RESPONSES)).status).toBe(200);
  });
});

it('[P-09] a part that hangs in front of a response in the background is a 504, too, and leaves nothing behind', async () => {
  await start({ prompts: hang }, 100);
  const body = { ...RESPONSES, prompt: { id: 'p' }, background: true };
  expect(await errorOf(await post('/responses', body))).toEqual([504, TOO_LONG]);
  await untilIdle();
  await expectNothingLater();
});

/** What a client sends to each API, and the end of a stream that failed. */
const APIS = [
  ['/responses', RESPONSES, 'response.failed'],
  ['/messages', MESSAGES, 'event: error'],
  ['/chat/completions', CHAT, '"code":"server_draining"'],
] as const;

describe.each(APIS)('an upstream of the host that hangs behind %s', (path, body, failed) => {
  it.each([false, true])('[P-09] is a 504 when the time of the turn is over, streamed: %s', async (stream) => {
    await start({}, 100, hangingUpstream([]));
    expect(await errorOf(await post(path, { ...body, stream }))).toEqual([504, TOO_LONG]);
    await untilIdle();
    await expectNothingLater();
  });

  it('[P-09] fails a stream that has begun when the server shuts down', async () => {
    await start({}, HOUR_LONG_SETTINGS.durationMs, hangingUpstream(['Hi']));
    const answer = await post(path, { ...body, stream: true });
    while (hung === 0) await new Promise(setImmediate);
    const [text] = await Promise.all([answer.text(), api.drain({ timeoutMs: 1 })]);
    const message = 'This server is shutting down; try again.';
    expect([text.includes('Hi'), text.includes(failed), text.includes(message)]).toEqual([true, true, true]);
    await expectNothingLater();
  });

  it.each([false, true])('[P-10] gives the place back when its client leaves, streamed: %s', async (stream) => {
    await start({}, HOUR_LONG_SETTINGS.durationMs, hangingUpstream([]));
    const client = new AbortController();
    const answer = post(path, { ...body, stream }, client.signal).catch(() => {});
    while (hung === 0) await new Promise(setImmediate);
    client.abort();
    await answer;
    await untilIdle();
    await expectNothingLater();
  });
});

describe('an upstream of the host that cannot count', () => {
  const hanging = (): Upstream => ({ ...hangingUpstream([]), countTokens: hang });

  it.each([
    ['/responses/input_tokens', RESPONSES],
    ['/messages/count_tokens', MESSAGES],
  ])('[P-09] is a 504 when the time is over: %s', async (path, body) => {
    await start({}, 100, hanging());
    expect(await errorOf(await post(path, body))).toEqual([504, TOO_LONG]);
    await untilIdle();
    await expectNothingLater();
  });
});

it('[P-09] a server of the Messages API that hangs is a 504 when the time of the turn is over', async () => {
  const { stream: _, ...upstream } = anthropicUpstream({ baseURL: fake.baseURL, apiKey: 'key' });
  const own = hangingUpstream([]);
  await start({}, 100, { ...upstream, stream: own.stream, messages: own.chat as Upstream['messages'] } as Upstream);
  for (const stream of [false, true])
    expect(await errorOf(await post('/messages', { ...MESSAGES, stream }))).toEqual([504, TOO_LONG]);
  await untilIdle();
});
