/** What a host without `hooks.onError` sees: the errors that are its own to mend, as process warnings, and no flood of them. */
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { attachResponsesWebSocket } from '../../src/hosts/websocket/index.ts';
import {
  ApiError,
  chatCompletionsUpstream,
  memoryStore,
  type ResponseStore,
  type RouterOptions,
} from '../../src/index.ts';
import { warnOfError } from '../../src/ports/host/error-warning.ts';
import { chatChunk, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { NOBODY } from '../support/listening.ts';
import { ask } from './client.ts';

let fake: FakeUpstream;
let app: App | undefined;
let warned: string[] = [];
/** Each test is a minute after the one before, so that none is quiet because another one warned. */
let minutes = 0;

beforeEach(async () => {
  fake = await startFakeUpstream();
  warned = [];
  minutes += 1;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + minutes * 60_000);
  jest.spyOn(process, 'emitWarning').mockImplementation(((message: string, name: string) => {
    warned.push(`${name}: ${message.replace(/Request: \S+\./, 'Request: <id>.')}`);
  }) as typeof process.emitWarning);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await app?.close();
  app = undefined;
  await fake.close();
});

/** A line ends with the request, what to do, and where to read more. */
const line = (text: string, advice: string, code: string) =>
  `ExpressOpenResponsesWarning: ${text} Request: <id>. ${advice} See express-open-responses/docs/errors.md#${code}.`;
const STORE_FAILED = line(
  'store_error (status 500): The store of responses failed. Cause: Error: disk full.',
  'Check that its database is running and not overloaded, and that this process may write to it.',
  'store_error',
);
const hostOf = (url: string) => new URL(url).host;

/** A store that fails at this. A response that has output is answered all the same, as a failed one. */
function failing(...methods: readonly ('get' | 'put')[]): ResponseStore {
  const fail = () => Promise.reject(new Error('disk full'));
  const store: ResponseStore = memoryStore();
  return { ...store, ...Object.fromEntries(methods.map((name) => [name, fail])) };
}

async function requested(options: RouterOptions, body = {}): Promise<number> {
  const upstream = chatCompletionsUpstream({
    baseURL: `${fake.baseURL}?secret=hidden-in-query`,
    apiKey: 'secret-api-key',
    retries: 0,
  });
  app = await startApp({ options: { upstream, ...options } });
  const response = await ask(app.url, body);
  await response.text();
  return response.status;
}

describe('without hooks.onError', () => {
  it('[F-09] a model server that is down is warned of, with its host and why, and without key and query', async () => {
    const { port } = NOBODY;
    const upstream = chatCompletionsUpstream({
      baseURL: `http://127.0.0.1:${port}/v1?key=secret-in-query`,
      apiKey: 'secret-api-key',
      retries: 0,
    });
    expect([await requested({ upstream }), warned]).toEqual([
      502,
      [
        line(
          `upstream_unavailable (status 502): The model server could not be reached. Model server: 127.0.0.1:${port}. Cause: Error: connect ECONNREFUSED 127.0.0.1:${port}.`,
          `Is the model server running at http://127.0.0.1:${port}? If it is elsewhere, set baseURL (or OPENAI_BASE_URL) to its address.`,
          'upstream_unavailable',
        ),
      ],
    ]);
  });

  it.each<[string, RouterOptions, number]>([
    ['fails', {}, 200],
    ['is passed over, as the host wants', { onStoreError: 'continue' }, 200],
  ])('[F-09] a store that %s is warned of', async (_, options, status) => {
    const answered = await requested({ ...options, store: failing('put') });
    expect([answered, warned]).toEqual([status, [STORE_FAILED]]);
  });

  it('[F-09] an address without the API is warned of in whole sentences', async () => {
    fake.reply({ status: 404, body: JSON.stringify({ detail: 'Not Found' }) });
    await requested({ upstream: chatCompletionsUpstream({ baseURL: new URL(fake.baseURL).origin }) });
    expect(warned).toEqual([
      line(
        `not_found (status 404): Not Found. Model server: ${hostOf(fake.baseURL)}. Cause: Error: The model server has no path /chat/completions: does baseURL lack '/v1' at its end?`,
        "Set baseURL to where its API is, often with '/v1' at its end.",
        'not_found',
      ),
    ]);
  });

  it('[F-09] a stream that breaks is warned of', async () => {
    fake.reply({ body: chatChunk({ content: 'Hel' }) });
    await requested({}, { stream: true });
    expect(warned).toEqual([
      expect.stringMatching(`upstream_truncated \\(status 502\\): .* Model server: ${hostOf(fake.baseURL)}\\.`),
    ]);
  });

  it('[F-09] a response in the background that fails is warned of', async () => {
    fake.reply({ status: 500, body: JSON.stringify({ error: { message: 'Out of memory.', code: 'out_of_memory' } }) });
    const seen = new Promise<void>((resolve) => {
      jest.mocked(process.emitWarning).mockImplementation(((message: string) => {
        warned.push(message);
        resolve();
      }) as typeof process.emitWarning);
    });
    await requested({}, { background: true });
    await seen;
    expect(warned).toEqual([expect.stringMatching(/^out_of_memory \(status 500\): Out of memory\. Model server: /)]);
  });

  it('[F-09] a failure over WebSocket is warned of', async () => {
    app = await startApp({ upstream: fake });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'k', retries: 0 });
    const attached = attachResponsesWebSocket(app.server, { upstream, store: failing('put') });
    const socket = new WebSocket(`${app.url.replace('http', 'ws')}/responses`);
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'Hi' }));
    await new Promise<void>((resolve) => {
      socket.on('message', (data) => /"(error|response\.failed)"/.test(String(data)) && resolve());
    });
    socket.terminate();
    await attached.close();
    await upstream.close?.();
    expect(warned).toEqual([STORE_FAILED]);
  });

  it('[F-09] a key that the model server refuses is warned of, and what a client did wrong is not', async () => {
    fake.reply({ status: 401, body: JSON.stringify({ error: { message: 'Bad key secret-api-key.' } }) });
    await requested({});
    await ask(app?.url ?? '', { temperature: 7 });
    await ask(app?.url ?? '', { previous_response_id: 'resp_none' });
    expect(warned).toEqual([
      line(
        `invalid_api_key (status 401): Bad key ***. Model server: ${hostOf(fake.baseURL)}.`,
        `Set apiKey (or OPENAI_API_KEY, where baseURL is not set) to a key that http://${hostOf(fake.baseURL)} accepts: the one that is set is refused, and the client's own key is not forwarded.`,
        'invalid_api_key',
      ),
    ]);
  });

  it('[F-09] a fault of unknown origin is warned of with its stack', async () => {
    const upstream = { name: 'broken', stream: () => broken() };
    function broken(): never {
      throw new RangeError('out of range');
    }
    await requested({ upstream });
    expect(warned).toEqual([
      expect.stringMatching(/^ExpressOpenResponsesWarning: server_error .*RangeError: out of range\n\s+at broken/),
    ]);
  });
});

it('[F-09] nothing is warned of where the host has hooks.onError', async () => {
  const reported: string[] = [];
  const status = await requested({ store: failing('put'), hooks: { onError: ({ code }) => void reported.push(code) } });
  expect([status, reported, warned]).toEqual([200, ['store_error'], []]);
});

describe('a flood', () => {
  const at = (code: string, when: number) => {
    jest.mocked(performance.now).mockReturnValue(when);
    warnOfError(new ApiError(code, 'It failed.', { status: 502 }), { requestId: 'r' });
  };

  it('[F-09] is at most one warning a second of each code, and the next reports how many were not shown', () => {
    const start = minutes * 60_000;
    for (let ms = 0; ms < 999; ms += 1) at('flood_one', start + ms);
    at('flood_two', start + 5);
    at('flood_one', start + 1000);
    expect(warned.map((text) => /flood_\w+|\d+ more of this code/g[Symbol.match](text))).toEqual([
      ['flood_one'],
      ['flood_two'],
      ['flood_one', '998 more of this code'],
    ]);
  });

  it('[F-09] of codes that a model server makes up does not grow without end', () => {
    for (let index = 0; index < 10_000; index += 1) at(`made_up_${index}`, minutes * 60_000);
    expect([warned.length > 10, warned.length <= 65]).toEqual([true, true]);
  });
});
