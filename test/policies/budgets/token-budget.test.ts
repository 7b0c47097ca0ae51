/** The budget alone: what is taken, what is charged, and what a client receives. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BurstyRateLimiter, RateLimiterMemory } from 'rate-limiter-flexible';
import {
  type BudgetedTurn,
  memoryLedger,
  type PointLimiter,
  type TokenBudget,
  type TokenBudgetOptions,
  tokenBudget,
  type UsageRow,
} from '../../../src/policies/budgets/index.ts';
import { durationText } from '../../../src/policies/budgets/rate-limit-headers.ts';
import { RecentMap } from '../../../src/policies/budgets/recent-map.ts';
import { ApiError } from '../../../src/protocol/errors.ts';
import { NO_USAGE } from '../../../src/protocol/events.ts';

const POINTS = { points: 5_000_000, duration: 60 };
const MINUTE = { points: 10, duration: 60 };
const DAY = 24 * 60 * 60;

function usage(input: number, output: number) {
  return { ...NO_USAGE, input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** What a tenant is answered: the code of the refusal, or `admitted`. */
async function outcomeOf(budget: TokenBudget, tenant: string): Promise<string> {
  const turn = await budget.admit(tenant).catch((error: unknown) => error);
  if (turn instanceof ApiError) return turn.code;
  return 'headers' in (turn as BudgetedTurn) ? 'admitted' : String(turn);
}

async function refusalOf(budget: TokenBudget, tenant = 'a'): Promise<ApiError> {
  // The cast: these tests are refused.
  return (await budget.admit(tenant).then(
    () => undefined,
    (error) => error,
  )) as ApiError;
}

async function use(budget: TokenBudget, tenant: string, input: number, output: number, model = 'm', cost?: number) {
  (await budget.admit(tenant)).count({ model, usage: usage(input, output), cost });
  await settled();
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const today = () => new Date().toISOString().slice(0, 10);
const limiters: readonly (readonly [string, () => NonNullable<TokenBudgetOptions['limits']>['tokens']])[] = [
  ['in memory', () => MINUTE],
  ['of rate-limiter-flexible', () => new RateLimiterMemory(MINUTE)],
];

describe.each(limiters)('[C-28] with limits %s', (_, limit) => {
  it('of 200 requests at once no more pass than the limit', async () => {
    const budget = tokenBudget({ limits: { requests: limit() } });
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => outcomeOf(budget, 'a')));
    const other = await outcomeOf(budget, 'b');
    const passed = outcomes.filter((outcome) => outcome === 'admitted').length;
    expect([passed, new Set(outcomes).size, outcomes.at(-1), other]).toEqual([
      10,
      2,
      'rate_limit_exceeded',
      'admitted',
    ]);
  });

  it('tokens are charged when they are known, and past the limit the next request is refused', async () => {
    const budget = tokenBudget({ limits: { tokens: limit() } });
    await use(budget, 'a', 4, 5);
    await use(budget, 'a', 100, 100);
    expect([await outcomeOf(budget, 'a'), await outcomeOf(budget, 'b')]).toEqual(['rate_limit_exceeded', 'admitted']);
  });

  it.each([
    ['inputTokens', 10, 0],
    ['outputTokens', 0, 10],
  ] as const)('%s are a limit of their own', async (name, input, output) => {
    const budget = tokenBudget({ limits: { [name]: limit() } });
    await use(budget, 'a', output, input);
    expect(await outcomeOf(budget, 'a')).toBe('admitted');
    await use(budget, 'a', input, output);
    expect(await outcomeOf(budget, 'a')).toBe('rate_limit_exceeded');
  });

  it('the client receives what is left', async () => {
    const budget = tokenBudget({ limits: { requests: limit(), tokens: limit(), outputTokens: limit() } });
    const first = (await budget.admit('a')).headers;
    await use(budget, 'a', 2, 4);
    const { headers } = await budget.admit('a');
    expect(first).toEqual({
      'x-ratelimit-limit-requests': '10',
      'x-ratelimit-remaining-requests': '9',
      'x-ratelimit-reset-requests': '1m0s',
      'x-ratelimit-limit-tokens': '10',
      'x-ratelimit-remaining-tokens': '10',
      'x-ratelimit-reset-tokens': '0s',
    });
    expect(headers).toMatchObject({
      'x-ratelimit-remaining-requests': '7',
      'x-ratelimit-remaining-tokens': '4',
      'x-ratelimit-reset-tokens': expect.stringMatching(/^(1m0s|\d+s)$/),
    });
  });
});

describe.each(limiters)('[C-28] the reserve of running turns, with limits %s', (_, limit) => {
  const budgetOf = () => tokenBudget({ limits: { tokens: limit() }, reserve: { tokens: 3 } });
  const admitted = async (budget: TokenBudget, count: number, tenant = 'a') => {
    const turns = await Promise.all(Array.from({ length: count }, () => budget.admit(tenant).catch(() => undefined)));
    return turns.filter((turn) => turn !== undefined);
  };

  it('bounds how many of 10,000 at once run, and is free again when they are over', async () => {
    const budget = budgetOf();
    const first = await admitted(budget, 10_000);
    const other = await admitted(budget, 1, 'b');
    for (const turn of [...first, ...first]) turn.end?.();
    const second = await admitted(budget, 10_000);
    expect([first.length, other.length, second.length]).toEqual([4, 1, 4]);
  });

  it('gives way to what was used', async () => {
    const budget = budgetOf();
    const [turn] = await admitted(budget, 1);
    turn?.count({ model: 'm', usage: usage(6, 0) });
    turn?.end?.();
    await settled();
    expect((await admitted(budget, 10)).length).toBe(2);
  });

  it('shows clients what is left beside it, and to come back soon', async () => {
    const budget = budgetOf();
    const headers = (await admitted(budget, 2)).map((turn) => turn.headers['x-ratelimit-remaining-tokens']);
    await admitted(budget, 2);
    const refusal = await refusalOf(budget);
    expect([headers, refusal.code, refusal.headers]).toEqual([
      ['10', '7'],
      'rate_limit_exceeded',
      expect.objectContaining({ 'retry-after': '1', 'x-ratelimit-remaining-tokens': '0' }),
    ]);
  });
});

it('[C-28] a quota that running turns hold is not used up', async () => {
  const limits = { cost: { dollars: 0.05, duration: 30 * DAY } };
  const budget = tokenBudget({ limits, reserve: { cost: 0.05 } });
  await budget.admit('a');
  const { code, headers } = await refusalOf(budget);
  expect([code, headers['retry-after']]).toEqual(['rate_limit_exceeded', '1']);
});

it('[C-28] a limiter alone is the limit of tokens', async () => {
  const budget = tokenBudget({ limiter: new RateLimiterMemory(MINUTE), cost: () => 0.5 });
  await use(budget, 'a', 8, 2);
  const [row] = await budget.report({ scope: 'a' });
  expect([await outcomeOf(budget, 'a'), await outcomeOf(budget, 'b'), row?.cost]).toEqual([
    'rate_limit_exceeded',
    'admitted',
    0.5,
  ]);
});

it('[C-28] a rate may have a burst: 100 a second for a user and 100 more at once, half of both for a key', async () => {
  const bursty = (points: number) => {
    const rate = new RateLimiterMemory({ points, duration: 1 });
    return new BurstyRateLimiter(rate, new RateLimiterMemory({ keyPrefix: 'burst', points, duration: 60 }));
  };
  const [user, key] = [100, 50].map((points) => tokenBudget({ limits: { requests: bursty(points) } }));
  const passed = async (budget: TokenBudget | undefined, tenant: string) => {
    const requests = Array.from({ length: 250 }, () => budget && outcomeOf(budget, tenant));
    return (await Promise.all(requests)).filter((outcome) => outcome === 'admitted').length;
  };
  expect([await passed(user, 'ada'), await passed(key, 'key-1'), await passed(key, 'key-2')]).toEqual([200, 100, 100]);
});

it('[C-28] who is over a limit learns when to try again, as from OpenAI', async () => {
  const budget = tokenBudget({ limits: { requests: { points: 1, duration: 90 } } });
  await budget.admit('a');
  const { status, code, type, message, headers } = await refusalOf(budget);
  expect({ status, code, type, message, headers }).toEqual({
    status: 429,
    code: 'rate_limit_exceeded',
    type: 'rate_limit_error',
    message: 'The rate limit for requests is reached. Try again in 1m30s.',
    headers: {
      'retry-after': '90',
      'x-ratelimit-limit-requests': '1',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m30s',
    },
  });
});

it('[C-28] a budget that is used up for longer than a day is a quota', async () => {
  const budget = tokenBudget({
    limits: { cost: { dollars: 5, duration: 30 * DAY }, requests: { points: 3, duration: 1 } },
    cost: ({ usage: { total_tokens: tokens } }) => tokens,
  });
  await use(budget, 'a', 2, 2);
  await use(budget, 'a', 1, 0);
  const { status, code, type, headers } = await refusalOf(budget);
  expect([status, code, type, headers['retry-after']]).toEqual([
    429,
    'insufficient_quota',
    'insufficient_quota',
    String(30 * DAY),
  ]);
});

it('[C-28] a window that never ends has no time to wait', async () => {
  const budget = tokenBudget({ limits: { tokens: new RateLimiterMemory({ points: 1, duration: 0 }) } });
  await use(budget, 'a', 1, 1);
  const { code, headers } = await refusalOf(budget);
  expect([code, headers['retry-after']]).toEqual(['insufficient_quota', undefined]);
});

it('[C-28] a window begins again when it is over', async () => {
  const budget = tokenBudget({ limits: { requests: { points: 1, duration: 0.02 } } });
  expect([await outcomeOf(budget, 'a'), await outcomeOf(budget, 'a')]).toEqual(['admitted', 'rate_limit_exceeded']);
  await sleep(30);
  expect(await outcomeOf(budget, 'a')).toBe('admitted');
});

it('[C-28] tenants whose names are long or odd are kept apart, in keys that every database takes', async () => {
  const keys = new Set<string>();
  const limiter = new RateLimiterMemory({ points: 1, duration: 60 });
  const consume = (key: string) => {
    keys.add(key);
    return limiter.consume(key);
  };
  const budget = tokenBudget({ limits: { requests: { points: 1, consume } } });
  const long = 'x'.repeat(1000);
  const tenants = ['a', 'b', 'a b', 'a\0b', 'ä', long, `${long}y`, '', 'requests=a', '#a'];
  const outcomes = await Promise.all(tenants.map((tenant) => outcomeOf(budget, tenant)));
  expect([outcomes.every((outcome) => outcome === 'admitted'), keys.size]).toEqual([true, tenants.length]);
  expect([...keys].filter((key) => !/^[\x21-\x7e]{1,150}$/.test(key))).toEqual([]);
  expect([...keys].slice(0, 3)).toEqual(['requests=a', 'requests=b', expect.stringMatching(/^requests#[\w-]{43}$/)]);
});

it('[C-28] charges are never refused, since the answer is written already', async () => {
  const charged: [string, number | undefined][] = [];
  const left = { remainingPoints: 1, msBeforeNext: 1000 };
  const refused = () => Promise.reject(new Error('It was asked for room.'));
  const penalty = async (key: string, points?: number) => {
    charged.push([key, points]);
    return left;
  };
  const limiter = { points: 10, get: async () => left, consume: refused, penalty };
  const budget = tokenBudget({
    limits: { inputTokens: limiter, outputTokens: limiter, tokens: limiter, cost: limiter },
  });
  await use(budget, 'a', 3, 4000, 'm', 0.000_25);
  expect(charged).toEqual([
    ['inputTokens=a', 3],
    ['outputTokens=a', 4000],
    ['tokens=a', 4003],
    ['cost=a', 250],
  ]);
});

describe('the cost', () => {
  it('is limited in dollars, exactly: ten calls for a cent each are ten cents', async () => {
    const budget = tokenBudget({ limits: { cost: { dollars: 0.1, duration: 60 } } });
    const outcomes: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      outcomes.push(await outcomeOf(budget, 'a'));
      budget.resume('a').count({ model: 'm', usage: usage(1, 1), cost: 0.01 });
    }
    expect([outcomes, await outcomeOf(budget, 'a')]).toEqual([Array(10).fill('admitted'), 'rate_limit_exceeded']);
  });

  it('is held back in dollars', async () => {
    const limits = { cost: { dollars: 0.3, duration: 60 } };
    const budget = tokenBudget({ limits, reserve: { cost: 0.1 } });
    for (let count = 0; count < 3; count += 1) await budget.admit('a');
    expect((await refusalOf(budget)).code).toBe('rate_limit_exceeded');
  });

  it('is what the model server reports, and otherwise what the host says', async () => {
    const budget = tokenBudget({ cost: ({ model, usage: { input_tokens: input } }) => (model === 'dear' ? input : 0) });
    await use(budget, 'a', 3, 1, 'dear');
    await use(budget, 'a', 3, 1, 'dear', 0.25);
    expect((await budget.report({ scope: 'a' })).map(({ cost }) => cost)).toEqual([3.25]);
  });

  it.each([
    () => Number.NaN,
    () => -1,
    () => Number.POSITIVE_INFINITY,
    () => {
      throw new Error('no price');
    },
  ])('counts as nothing where the host does not know it: %s', async (cost) => {
    const budget = tokenBudget({ cost, limits: { cost: { dollars: 1, duration: 60 } } });
    await use(budget, 'a', 3, 1);
    expect((await budget.report({ scope: 'a' })).map((row) => row.cost)).toEqual([0]);
  });
});

describe('[C-30] the report', () => {
  it('has a row for each model and day of the tenant, in which a turn of several calls is one request', async () => {
    const budget = tokenBudget();
    const turn = await budget.admit('a');
    for (let count = 0; count < 3; count += 1) turn.count({ model: 'm', usage: usage(10, 1), cost: 0.5 });
    budget.resume('a').count({ model: 'm', usage: usage(5, 5) });
    await use(budget, 'a', 1, 2, 'other-model');
    await use(budget, 'b', 7, 7);
    const day = today();
    const row = { scope: 'a', model: 'm', day, requests: 1, inputTokens: 35, outputTokens: 8, cost: 1.5 };
    const second = { ...row, model: 'other-model', inputTokens: 1, outputTokens: 2, cost: 0 };
    expect(await budget.report({ scope: 'a', from: day, to: new Date() })).toEqual([row, second]);
    expect(await budget.report({ scope: 'a', model: 'm' })).toEqual([row]);
    expect(await budget.report({ scope: 'a', from: '2020-01-01', to: '2020-12-31' })).toEqual([]);
  });

  it('selects days, over the ends of months', () => {
    const ledger = memoryLedger();
    const row = { scope: 'a', model: 'm', requests: 1, inputTokens: 1, outputTokens: 1, cost: 0 };
    for (const day of ['2028-02-27', '2028-02-28', '2028-02-29', '2028-03-01', '2028-03-02'])
      ledger.add({ ...row, day });
    const rows = ledger.read({ scope: 'a', from: '2028-02-28', to: '2028-03-01' }) as readonly UsageRow[];
    expect(rows.map(({ day }) => day)).toEqual(['2028-02-28', '2028-02-29', '2028-03-01']);
  });

  it.each([
    { scope: 'a', from: 'yesterday' },
    { scope: 'a', from: '2026-02-3' },
    { scope: 'a', to: '2026-13-01' },
    { scope: 'a', to: new Date(Number.NaN) },
    { scope: 'a', from: '1000-01-01', to: '2026-01-01' },
  ])('refuses a bad day: %j', async (query) => {
    await expect(tokenBudget().report(query)).rejects.toThrow(TypeError);
  });

  it('counts models past the sixteenth of a day as one, whatever clients call them', async () => {
    const budget = tokenBudget();
    for (let index = 0; index < 100; index += 1) await use(budget, 'a', 1, 0, `model-${index}${'x'.repeat(500)}`);
    const rows = await budget.report({ scope: 'a' });
    expect([rows.length, rows.at(-1)?.model, rows.at(-1)?.requests]).toEqual([17, 'other', 84]);
    expect(Math.max(...rows.map(({ model }) => model.length))).toBe(128);
  });

  it('comes from a ledger of the host', async () => {
    const rows: UsageRow[] = [];
    const ledger = { add: (row: UsageRow) => void rows.push(row), read: async () => rows };
    const budget = tokenBudget({ ledger });
    await use(budget, 'a', 1, 2);
    expect(await budget.report({ scope: 'a' })).toEqual([
      { scope: 'a', model: 'm', day: today(), requests: 1, inputTokens: 1, outputTokens: 2, cost: 0 },
    ]);
  });
});

describe('a limiter whose database fails', () => {
  const failing = (how: () => Promise<never>): PointLimiter => ({ points: 10, consume: how, get: how, penalty: how });
  const ways: readonly (readonly [string, () => Promise<never>])[] = [
    ['rejects', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['never answers', () => new Promise<never>(() => {})],
    [
      'throws',
      () => {
        throw new Error('closed');
      },
    ],
    ['rejects with nothing', () => Promise.reject()],
  ];

  beforeEach(() => void process.on('warning', () => {}));

  it.each(ways)('lets requests pass by default, and keeps usage: %s', async (_, how) => {
    const limits = { requests: failing(how), tokens: failing(how) };
    const budget = tokenBudget({ limits, limiterTimeoutMs: 20 });
    await use(budget, 'a', 1, 2);
    expect((await budget.report({ scope: 'a' })).map(({ inputTokens }) => inputTokens)).toEqual([1]);
    await sleep(40);
  });

  it.each(ways)('refuses them if the host wants that: %s', async (_, how) => {
    const budget = tokenBudget({ limits: { tokens: failing(how) }, limiterTimeoutMs: 20, onLimiterError: 'refuse' });
    const { status, code } = await refusalOf(budget);
    expect([status, code]).toEqual([503, 'budget_unavailable']);
  });

  it('does not keep what the others say from counting', async () => {
    const [, rejects] = ways[0] ?? [];
    const limits = { tokens: failing(rejects as () => Promise<never>), requests: { points: 1, duration: 60 } };
    const budget = tokenBudget({ limits });
    expect([await outcomeOf(budget, 'a'), await outcomeOf(budget, 'a')]).toEqual(['admitted', 'rate_limit_exceeded']);
  });

  it('does not matter to the answer if it is the ledger', async () => {
    const budget = tokenBudget({ ledger: { add: () => Promise.reject(new Error('full')), read: () => [] } });
    await use(budget, 'a', 1, 2);
  });
});

describe('options', () => {
  // The cast: what plain JavaScript may give.
  const made = (options: unknown) => () => tokenBudget(options as TokenBudgetOptions);

  it.each([
    [
      { limits: { requests: 5 } },
      /limits\.requests must be \{ points, duration \}.*npm install rate-limiter-flexible.*got 5/,
    ],
    [{ limits: { tokens: { points: 0, duration: 1 } } }, /limits\.tokens must be/],
    [{ limits: { tokens: { points: 5 } } }, /a limiter with consume, get, penalty/],
    [{ limits: { tokens: { points: 5, consume() {} } } }, /limits\.tokens must be/],
    [{ limiter: 5 }, /limiter must be an object, got 5/],
    [
      { limiter: { points: 5, duration: -1 } },
      /limiter must be \{ points, duration \}.*got \{ points: 5, duration: -1 \}/,
    ],
    [
      { limits: { cost: POINTS } },
      /limits\.cost must be \{ dollars, duration \}.*millionths of a dollar.*got \{ points: 5000000, duration: 60 \}/,
    ],
    [{ limits: { cost: { dollars: 0.000_000_4, duration: 60 } } }, /limits\.cost must be \{ dollars, duration \}/],
    [{ limits: { cost: { dollars: '5', duration: 60 } } }, /limits\.cost must be \{ dollars, duration \}/],
    [{ limits: { cost: { dollars: 5, duration: 0 } } }, /limits\.cost must be \{ dollars, duration \}/],
    [{ limits: { tokens: { dollars: 5, duration: 60 } } }, /limits\.tokens must be \{ points, duration \}/],
    [
      { limits: { cost: { dollars: 5, duration: 60 } }, reserve: { cost: 0 } },
      /reserve: cost must be dollars, a millionth at least, got 0/,
    ],
    [{ limiter: MINUTE, limits: { tokens: MINUTE } }, /limiter and limits\.tokens are the same limit/],
    [{ reserve: 5 }, /reserve must be an object, got 5/],
    [{ limiter: MINUTE, reserve: { tokens: 0 } }, /reserve: tokens must be a number over 0, got 0/],
    [{ limiter: MINUTE, reserve: { requests: 1 } }, /reserve: unknown option 'requests'/],
    [{ limiter: MINUTE, reserve: { cost: 1 } }, /reserve: cost has no limit/],
    [{ scope: 'a' }, /scope must be a function, got 'a'/],
    [{ countTokens: 5 }, /countTokens must be a function, got 5/],
    [{ limits: { token: MINUTE } }, /unknown limit 'token'; known are requests, inputTokens/],
    [{ limits: [] }, /limits must be an object/],
    [{ cost: 5 }, /cost must be a function/],
    [{ ledger: {} }, /ledger must be an object with add and read/],
    [{ onLimiterError: 'fail' }, /onLimiterError must be one of 'pass', 'refuse'/],
    [{ limiterTimeoutMs: 0 }, /limiterTimeoutMs must be/],
    [{ limit: {} }, /unknown option 'limit'/],
  ])('that are wrong are a TypeError that reports what to do: %j', (options, message) => {
    expect(made(options)).toThrow(TypeError);
    expect(made(options)).toThrow(message);
  });

  it('may be undefined', () => {
    expect(made({ limits: { tokens: undefined }, cost: undefined, ledger: undefined, scope: undefined })).not.toThrow();
  });
});

it('writes times as OpenAI does', () => {
  const times = [0, 1, 250, 999.5, 1000, 59_000, 60_000, 360_000, 3_600_000, 90_061_000, -1];
  expect(times.map(durationText)).toEqual([
    '0s',
    '1ms',
    '250ms',
    '1s',
    '1s',
    '59s',
    '1m0s',
    '6m0s',
    '1h0m0s',
    '25h1m1s',
    '0s',
  ]);
});

describe('the memory of tenants', () => {
  it('[P-11] is bounded: those that were not seen for longest are forgotten', () => {
    const seen = new RecentMap<number>(100);
    for (let index = 0; index < 10_000; index += 1) {
      seen.set(`tenant-${index}`, index);
      seen.get('tenant-0');
    }
    const kept = Array.from({ length: 10_000 }, (_, index) => seen.get(`tenant-${index}`)).filter(
      (value) => value !== undefined,
    );
    expect([kept.length <= 100, kept.length >= 50, kept[0], kept.at(-1)]).toEqual([true, true, 0, 9999]);
  });
});
