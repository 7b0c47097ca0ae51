/** Routers with a budget: every way of ending a turn is charged once, with what it used. */
import { withFailover } from 'express-open-responses/routing';
import { chatCompletionsUpstream, functionTools, responsesRouter, type Upstream } from '../../../src/index.ts';
import {
  chatChunk,
  chatCompletion,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../../src/testing/index.ts';
import { type BudgetApp, type BudgetAppSetup, rateHeaders, startBudgetApp } from './budget-app.ts';

let app: BudgetApp;
afterEach(() => app.close());

const start = async (setup: BudgetAppSetup = {}) => {
  app = await startBudgetApp(setup);
};
const HI = { input: 'Hi' };
const MESSAGES = { messages: [{ role: 'user', content: 'Hi' }] };
/** Counts a character as a token, so that tests can see what was estimated. */
const countTokens = (text: string) => text.length;

const ways = [
  ['/responses', HI],
  ['/responses', { ...HI, stream: true }],
  ['/chat/completions', MESSAGES],
  ['/chat/completions', { ...MESSAGES, stream: true }],
  ['/messages', { ...MESSAGES, max_tokens: 64 }],
  ['/messages', { ...MESSAGES, max_tokens: 64, stream: true }],
] as const;

describe.each(ways)('[C-28] %s with %j', (path, body) => {
  const isStream = 'stream' in body;
  const answer = { body: isStream ? textStream('Hello') : chatCompletion('Hello') };

  it('is charged with what the model server reports, and shows what was left', async () => {
    await start({
      budget: { limits: { requests: { points: 5, duration: 60 }, tokens: { points: 30, duration: 60 } } },
    });
    app.fake.reply(answer);
    const first = await app.post(path, body);
    const text = await first.text();
    const second = await app.post(path, body);
    await second.text();
    const third = await app.post(path, body);
    const { error } = JSON.parse(await third.text());
    expect([first.status, second.status, third.status]).toEqual([200, 200, 429]);
    expect(error.code ?? error.type).toBe(path === '/messages' ? 'rate_limit_error' : 'rate_limit_exceeded');
    expect(rateHeaders(first)).toEqual({
      'x-ratelimit-limit-requests': '5',
      'x-ratelimit-remaining-requests': '4',
      'x-ratelimit-reset-requests': '1m0s',
      'x-ratelimit-limit-tokens': '30',
      'x-ratelimit-remaining-tokens': '30',
      'x-ratelimit-reset-tokens': '0s',
    });
    expect(rateHeaders(second)).toMatchObject({ 'x-ratelimit-remaining-tokens': '9' });
    expect(rateHeaders(third)).toMatchObject({ 'x-ratelimit-remaining-tokens': '0' });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(50);
    expect([await app.counted(2), app.fake.requests.length]).toEqual([[[2, 18, 24]], 2]);
    expect(text.includes('"prompt_tokens"')).toBe(path === '/chat/completions' && !isStream);
  });

  it('costs no tokens when the model server refuses it', async () => {
    await start();
    app.fake.reply({ status: 400, body: '{"error":{"message":"no"}}' });
    await (await app.post(path, body)).text();
    app.fake.reply(answer);
    await (await app.post(path, body)).text();
    expect(await app.counted(1)).toEqual([[1, 9, 12]]);
  });

  it('whose answer has no usage is estimated by the token counter', async () => {
    await start({ routers: { countTokens } });
    const usage = undefined;
    app.fake.reply({
      body: isStream
        ? `${chatChunk({ content: 'Hello' }) + chatChunk({}, { finish_reason: 'stop' })}data: [DONE]\n\n`
        : chatCompletion('Hello', { usage }),
    });
    await (await app.post(path, body)).text();
    const [[requests = 0, input = 0, output = 0] = []] = await app.counted(1);
    // Each message has some tokens more than its text.
    expect([requests, input > 20, output]).toEqual([1, true, 'Hello'.length + 7]);
  });
});

describe.each(ways.filter(([, body]) => 'stream' in body))('[C-28] a stream of %s', (path, body) => {
  it('that its client leaves is charged with its input and what was written', async () => {
    await start({ routers: { countTokens } });
    app.fake.reply({ body: chatChunk({ content: 'Hello ' }) + chatChunk({ content: 'there' }), stallAfterBytes: 1e9 });
    const client = new AbortController();
    const response = await app.post(path, body, { signal: client.signal });
    await readUntil(response, 'there');
    client.abort();
    const [[requests = 0, input = 0, output = 0] = []] = await app.counted(1);
    expect([requests, input > 20, output]).toEqual([1, true, 'Hello there'.length + 7]);
  });

  it('that the model server breaks off is charged likewise, and what it reported by then', async () => {
    await start({ routers: { countTokens } });
    const usage = { prompt_tokens: 50, completion_tokens: 1, total_tokens: 51 };
    app.fake.reply({ body: chatChunk({ content: 'Hello there' }, { usage }) });
    await (await app.post(path, body)).text();
    expect(await app.counted(1)).toEqual([[1, 50, 'Hello there'.length + 7]]);
  });
});

describe.each(ways)('[C-28] the reserve of %s with %j', (path, body) => {
  const setup = { budget: { limiter: { points: 1000, duration: 60 }, reserve: { tokens: 1000 } } };

  /** Asks, and what a second request is answered with while the first one runs. */
  async function asked(signal?: AbortSignal) {
    const request = app.fake.nextRequest();
    const answer = app.post(path, body, signal ? { signal } : {}).catch(() => undefined);
    await request;
    return { answer, second: (await app.post(path, body)).status };
  }

  it('is held while it runs, and free when it ends, is refused or is left', async () => {
    await start(setup);
    app.fake.reply({ hang: true });
    const client = new AbortController();
    const left = await asked(client.signal);
    client.abort();
    await left.answer;
    await free();
    app.fake.reply({ status: 400, body: '{"error":{"message":"no"}}', firstByteDelayMs: 50 });
    const refused = await asked();
    await (await refused.answer)?.text();
    await free();
    app.fake.reply({ body: 'stream' in body ? textStream('Hello') : chatCompletion('Hello'), firstByteDelayMs: 50 });
    const whole = await asked();
    await (await whole.answer)?.text();
    await free();
    expect([left, refused, whole].map(({ second }) => second)).toEqual([429, 429, 429]);
  });
});

/** Resolves when the tenant may have a turn. */
async function free(): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const turn = await app.budget.admit('a').catch(() => undefined);
    turn?.end?.();
    if (turn) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('The reserve is never free.');
}

/** Reads until the text has come. */
async function readUntil(response: Response, text: string): Promise<string> {
  let read = '';
  const decoder = new TextDecoder();
  // The cast: the body of an answer of fetch can be iterated.
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    read += decoder.decode(bytes, { stream: true });
    if (read.includes(text)) break;
  }
  return read;
}

describe('[C-28] a tool loop of three model calls', () => {
  const tools = functionTools({ now: { execute: () => 'noon' } });
  const call = (id: string) => ({ body: toolCallStream([{ id, name: 'now', arguments: '{}' }]) });

  it.each(ways.filter(([, body]) => 'stream' in body))(
    'is one request with the sum of them: %s',
    async (path, body) => {
      await start({ routers: { tools } });
      app.fake.reply(call('1'), call('2'), { body: textStream('Noon') });
      await (await app.post(path, body)).text();
      expect([await app.counted(1), app.fake.requests.length]).toEqual([[[1, 27, 36]], 3]);
    },
  );
});

describe('[C-28] other ways to call a model', () => {
  it('a response in the background is charged, and its answer shows what is left', async () => {
    await start({ budget: { limits: { requests: { points: 5, duration: 60 } } } });
    app.fake.reply({ body: textStream('Hello') });
    const response = await app.post('/responses', { ...HI, background: true });
    expect([await app.counted(1), rateHeaders(response)]).toMatchObject([
      [[1, 9, 12]],
      { 'x-ratelimit-remaining-requests': '4' },
    ]);
  });

  it('a response in the background that is cancelled is charged with what was written', async () => {
    await start({ routers: { countTokens } });
    app.fake.reply({ body: chatChunk({ content: 'Hello' }), stallAfterBytes: 1e9 });
    const stream = await app.post('/responses', { ...HI, background: true, stream: true });
    const id = /resp_\w+/.exec(await readUntil(stream, 'Hello'))?.[0];
    await (await app.post(`/responses/${id}/cancel`, {})).text();
    const [[, input = 0, output] = []] = await app.counted(1);
    expect([input > 20, output]).toEqual([true, 'Hello'.length + 7]);
  });

  it('a response in the background holds its reserve until it ends', async () => {
    const before: BudgetAppSetup['before'] = (server, budget) => void server.post('/v1/responses', budget);
    await start({ budget: { limiter: { points: 1000, duration: 60 }, reserve: { tokens: 1000 } }, before });
    app.fake.reply({ body: chatChunk({ content: 'Hello' }), stallAfterBytes: 1e9 });
    const first = await app.post('/responses', { ...HI, background: true });
    const { id } = JSON.parse(await first.text());
    const second = await app.post('/responses', HI);
    await (await app.post(`/responses/${id}/cancel`, {})).text();
    await free();
    expect([first.status, second.status]).toEqual([200, 429]);
  });

  it('a compaction is charged', async () => {
    await start();
    app.fake.reply({ body: textStream('A summary') });
    await (await app.post('/responses/compact', { input: [{ role: 'user', content: 'Hi' }] })).text();
    expect(await app.counted(1)).toEqual([[1, 9, 12]]);
  });

  it('a refused background response is refused at once', async () => {
    await start({ budget: { limits: { requests: { points: 1, duration: 60 } } } });
    app.fake.reply({ body: textStream('Hello') });
    await (await app.post('/responses', { ...HI, background: true })).text();
    const { status } = await app.post('/responses', { ...HI, background: true });
    expect(status).toBe(429);
  });
});

it('[C-28] tenants are charged apart', async () => {
  await start({ budget: { limits: { tokens: { points: 10, duration: 60 } } } });
  app.fake.reply({ body: chatCompletion('Hello') });
  const statuses: number[] = [];
  for (const tenant of ['a', 'a', 'b']) {
    const response = await app.post('/responses', HI, { tenant });
    await response.text();
    statuses.push(response.status);
  }
  expect([statuses, await app.counted(1, 'a'), await app.counted(1, 'b')]).toEqual([
    [200, 429, 200],
    [[1, 9, 12]],
    [[1, 9, 12]],
  ]);
});

it('[C-28] the cost that the model server reports is charged', async () => {
  await start({ budget: { limits: { cost: { dollars: 1.5, duration: 60 } }, cost: () => 99 } });
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost: 1 };
  app.fake.reply({ body: chatCompletion('Hello', { usage }) });
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const response = await app.post('/responses', HI);
    await response.text();
    statuses.push(response.status);
  }
  const [row] = await app.budget.report({ scope: 'a' });
  expect([statuses, row?.cost]).toEqual([[200, 200, 429], 2]);
});

it.each(ways)('[C-28] [X-11] the cost may depend on the model server that answered: %s with %j', async (path, body) => {
  const prices: unknown[] = [];
  const cost = ({ server }: { readonly server?: string | undefined }) => {
    prices.push(server);
    return server === 'spare' ? 2 : 1;
  };
  const spare = await startFakeUpstream({
    reply: { body: 'stream' in body ? textStream('Hello') : chatCompletion('Hello') },
  });
  const at = ({ baseURL }: FakeUpstream) => chatCompletionsUpstream({ baseURL, apiKey: 'key', retries: 0 });
  const dead = await startFakeUpstream({ reply: { status: 500, body: '{}' } });
  const upstream = withFailover([
    { upstream: at(dead), name: 'main' },
    { upstream: at(spare), name: 'spare' },
  ]);
  await start({ budget: { cost }, routers: { upstream } });
  await (await app.post(path, body)).text();
  await app.counted(1);
  const [row] = await app.budget.report({ scope: 'a' });
  await Promise.all([upstream.close?.(), spare.close(), dead.close()]);
  expect([prices, row?.cost]).toEqual([['spare'], 2]);
});

describe('[C-28] the same budget as a middleware in front of the router', () => {
  it.each(ways)('counts a request once: %s with %j', async (path, body) => {
    const limits = { requests: { points: 2, duration: 60 } };
    await start({ budget: { limits }, before: (server, budget) => void server.use('/v1', budget) });
    app.fake.reply({ body: 'stream' in body ? textStream('Hello') : chatCompletion('Hello') });
    const responses = [];
    for (let count = 0; count < 3; count += 1) {
      const response = await app.post(path, body);
      await response.text();
      responses.push(response);
    }
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(responses.map((response) => rateHeaders(response)['x-ratelimit-remaining-requests'])).toEqual([
      '1',
      '0',
      '0',
    ]);
    expect(await app.counted(2)).toEqual([[2, 18, 24]]);
  });
});

describe('[C-28] a budget as a middleware in front of a router without one', () => {
  const tools = functionTools({ now: { execute: () => 'noon' } });
  /** The router as it is. */
  const plain = { budget: undefined };
  const inFront: BudgetAppSetup['before'] = (server, budget) => void server.use('/v1', budget);

  it.each(ways.filter(([, body]) => 'stream' in body))(
    'counts each model call of a tool loop: %s',
    async (path, body) => {
      await start({ routers: { tools, ...plain }, before: inFront });
      app.fake.reply(
        { body: toolCallStream([{ id: '1', name: 'now', arguments: '{}' }]) },
        { body: textStream('Noon') },
      );
      const text = await (await app.post(path, body)).text();
      expect([await app.counted(1), text.includes('"prompt_tokens"')]).toEqual([[[1, 18, 24]], false]);
    },
  );

  it('counts a response in the background, which is answered before it is made', async () => {
    await start({ routers: plain, before: inFront });
    app.fake.reply({ body: textStream('Hello') });
    await (await app.post('/responses', { ...HI, background: true })).text();
    expect(await app.counted(1)).toEqual([[1, 9, 12]]);
  });

  it('counts no tokens for paths that call no model', async () => {
    await start({ routers: plain, before: inFront });
    const statuses = [
      (await app.post('/responses/input_tokens', HI)).status,
      (await app.post('/conversations', {})).status,
      (await app.post('/responses', { input: 7 })).status,
    ];
    expect([statuses, await app.budget.report({ scope: 'a' })]).toEqual([[200, 200, 400], []]);
  });
});

it('a budget that is none is a TypeError', async () => {
  await start();
  // The cast: what plain JavaScript may give.
  const upstream: Upstream = { name: 'none', async *stream() {} };
  expect(() => responsesRouter({ upstream, budget: { limits: {} } as never })).toThrow(
    /responsesRouter: budget must be a tokenBudget\(\)/,
  );
});
