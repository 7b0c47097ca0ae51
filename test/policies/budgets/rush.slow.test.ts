/** Very many requests of one tenant at once, and very many tenants. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openResponses } from '../../../src/core.ts';
import { memoryStore, type Upstream } from '../../../src/index.ts';
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { NO_USAGE } from '../../../src/protocol/events.ts';
import { chatCompletion, textStream } from '../../../src/testing/index.ts';
import { type BudgetApp, type BudgetAppSetup, startBudgetApp } from './budget-app.ts';

let app: BudgetApp | undefined;
afterEach(() => app?.close());

const start = async (setup: BudgetAppSetup) => {
  app = await startBudgetApp(setup);
  return app;
};
const MESSAGES = { messages: [{ role: 'user', content: 'Hi' }] };
const ways = [
  ['/responses', { input: 'Hi' }],
  ['/chat/completions', { ...MESSAGES, stream: true }],
] as const;

describe.each(ways)('[C-28] %s with %j', (path, body) => {
  it('of which 200 come at once lets no more pass than its limit', async () => {
    const app = await start({ budget: { limits: { requests: { points: 7, duration: 60 } } } });
    app.fake.reply({ body: 'stream' in body ? textStream('Hello') : chatCompletion('Hello') });
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const response = await app.post(path, body);
        await response.text();
        return response.status;
      }),
    );
    expect([statuses.filter((status) => status === 200).length, app.fake.requests.length]).toEqual([7, 7]);
    expect(await app.counted(7)).toEqual([[7, 63, 84]]);
  });
});

describe('[C-28] 10,000 streams that one tenant opens at once', () => {
  const STREAMS = 10_000;
  const TOKENS = 1000;
  const usage = { ...NO_USAGE, input_tokens: 500, output_tokens: 500, total_tokens: TOKENS };
  const body = JSON.stringify({ model: 'm', input: 'Hi', stream: true });
  const headers = (tenant: string) => ({ 'content-type': 'application/json', authorization: `Bearer ${tenant}` });
  const post = (tenant: string) =>
    new Request('http://host/v1/responses', { method: 'POST', headers: headers(tenant), body });

  /** A model that answers when the test says so, and counts the calls that run at once. */
  function heldModel() {
    const calls = { now: 0, most: 0, all: 0 };
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const upstream: Upstream = {
      name: 'held',
      async *stream() {
        calls.all += 1;
        calls.now += 1;
        calls.most = Math.max(calls.most, calls.now);
        yield [];
        await opened;
        calls.now -= 1;
        yield [
          { type: 'text-delta', text: 'Hello' },
          { type: 'usage', usage },
          { type: 'finish', reason: 'stop' },
        ];
      },
    };
    return { upstream, calls, open: () => open() };
  }

  it('pass a limit of tokens by no more than what the reserve or the places allow, and leave others their own', async () => {
    const { upstream, calls, open } = heldModel();
    const scope = (request: { readonly headers: Headers }) => String(request.headers.get('authorization'));
    const budget = tokenBudget({ limiter: { points: 100 * TOKENS, duration: 600 }, reserve: { tokens: TOKENS } });
    const limits = { turns: { concurrentTurnsPerTenant: 40, queuedTurns: 200 } };
    const handle = openResponses({
      upstream,
      store: memoryStore(),
      budget,
      limits,
      scope,
      basePath: '/v1',
      logger: false,
    }).fetch;
    const crowd = Array.from({ length: STREAMS }, () => handle(post('crowd')));
    const other = handle(post('other'));
    const refused = await Promise.race([Promise.all(crowd).then(() => []), countOf(crowd, 429, STREAMS - 140)]);
    open();
    const texts = await Promise.all([...crowd, other].map(async (answer) => (await answer).text()));
    const whole = texts.filter((text) => text.includes('response.completed')).length;
    const [row] = await budget.report({ scope: 'Bearer crowd' });
    const [others] = await budget.report({ scope: 'Bearer other' });
    // 40 run, and 100 wait, which is half of the queue; of those the budget lets pass what is left of it.
    expect([refused, calls.most, whole, row?.requests, others?.requests]).toEqual([STREAMS - 140, 41, 101, 100, 1]);
    expect((row?.inputTokens ?? 0) + (row?.outputTokens ?? 0)).toBe(100 * TOKENS);
  });

  it('are charged beyond a limit by what the reserve leaves open, where nothing else bounds them', async () => {
    const { upstream, calls, open } = heldModel();
    const budget = tokenBudget({ limiter: { points: 100 * TOKENS, duration: 600 }, reserve: { tokens: TOKENS / 2 } });
    const handle = openResponses({ upstream, store: memoryStore(), budget, basePath: '/v1', logger: false }).fetch;
    const crowd = Array.from({ length: STREAMS }, () => handle(post('crowd')));
    await countOf(crowd, 429, STREAMS - 200);
    open();
    for (const answer of await Promise.all(crowd)) await answer.text();
    expect(calls).toEqual({ now: 0, most: 200, all: 200 });
  });
});

/** Resolves when so many of the answers have this status. */
function countOf(answers: readonly Promise<Response>[], status: number, wanted: number): Promise<number> {
  let count = 0;
  return new Promise((resolve) => {
    for (const answer of answers)
      void answer.then((response) => {
        if (response.status === status) count += 1;
        if (count === wanted) resolve(count);
      });
  });
}

it('[P-11] tenants without number are forgotten, those that were not seen for longest first', async () => {
  const TENANTS = 250_000;
  const MODELS = 40;
  const usage = { ...NO_USAGE, input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const budget = tokenBudget({ limits: { requests: { points: 1, duration: 86_400 } }, reserve: undefined });
  const use = async (tenant: string) => {
    const turn = await budget.admit(tenant);
    turn.count({ model: `model-${tenant.length % MODELS}-${'x'.repeat(200)}`, usage });
    turn.end?.();
  };
  const before = heapUsed();
  for (let index = 0; index < TENANTS; index += 1) await use(`tenant-${index}-${'x'.repeat(500)}`);
  const megabytes = (heapUsed() - before) / 2 ** 20;
  const rows = async (index: number) => (await budget.report({ scope: `tenant-${index}-${'x'.repeat(500)}` })).length;
  expect([await rows(0), await rows(TENANTS - 1), megabytes < 200]).toEqual([0, 1, true]);
  // The first tenant's window is forgotten, the last one's is not.
  await use(`tenant-0-${'x'.repeat(500)}`);
  await expect(use(`tenant-${TENANTS - 1}-${'x'.repeat(500)}`)).rejects.toThrow(
    'The rate limit for requests is reached.',
  );
}, 60_000);

it('[P-11] of a model’s name of a megabyte only its beginning is kept', async () => {
  const budget = tokenBudget({ limits: { requests: { points: 1, duration: 86_400 } } });
  const before = heapUsed();
  for (let index = 0; index < 100; index += 1) {
    const turn = await budget.admit(`tenant-${index}`);
    turn.count({ model: JSON.parse(JSON.stringify('m'.repeat(1_000_000) + index)), usage: NO_USAGE });
    turn.end?.();
  }
  const megabytes = (heapUsed() - before) / 2 ** 20;
  const [row] = await budget.report({ scope: 'tenant-99' });
  expect([row?.model.length, megabytes < 20]).toEqual([128, true]);
});

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
