/** Which budgets a request is taken from, and which of them count its model calls. */
import { jest } from '@jest/globals';
import { withBudget } from '../../../src/engine/metering/budgeted.ts';
import type { Budget, BudgetedTurn } from '../../../src/ports/budget.ts';
import type { TurnContext } from '../../../src/ports/turn-context.ts';
import type { Upstream } from '../../../src/ports/upstream.ts';
import { ApiError } from '../../../src/protocol/errors.ts';
import { NO_USAGE } from '../../../src/protocol/events.ts';
import { gate } from '../../support/gate.ts';

const usage = { ...NO_USAGE, input_tokens: 1, output_tokens: 2, total_tokens: 3 };
const upstream: Upstream = {
  name: 'model',
  async *stream() {
    yield [
      { type: 'usage', usage },
      { type: 'finish', reason: 'stop' },
    ];
  },
};

/** A budget that records what is asked of it. */
function recording() {
  const asked: string[] = [];
  const turn = (name: string): BudgetedTurn => ({
    headers: { left: name },
    count: () => void asked.push(`count ${name}`),
    end: () => void asked.push(`end ${name}`),
  });
  const budget: Budget = {
    async admit(tenant) {
      asked.push(`admit ${tenant}`);
      return turn(tenant);
    },
    resume(tenant) {
      asked.push(`resume ${tenant}`);
      return turn(tenant);
    },
  };
  return { asked, budget, turn };
}

const countTokens = async () => 0;

/** A turn that goes on until `end`. */
function life() {
  const waiting: (() => void)[] = [];
  const end = () => {
    for (const run of waiting) run();
  };
  return { whenOver: (run: () => void) => void waiting.push(run), end };
}

/** Calls the model once with these settings. */
async function call(settings: { readonly upstream: Upstream }): Promise<void> {
  const { signal } = new AbortController();
  const limits = { firstByteTimeoutMs: 1, idleTimeoutMs: 1, eventBytes: 1, outputBytes: 1, toolIterations: 1 };
  const modelCall = { signal, headers: new Headers(), limits, note: () => {} };
  for await (const _ of settings.upstream.stream({ model: 'm', items: [], tools: [] }, modelCall));
}

it('[C-28] a request without a budget has its settings at once, as they are', () => {
  const settings = { upstream, countTokens };
  const given = withBudget({ scope: 'a', context: {} }, settings, life());
  expect(given).toEqual({ settings });
});

it('[C-28] a request is taken from the budget of its router, and each model call is counted', async () => {
  const { asked, budget } = recording();
  const { settings, headers } = await withBudget(
    { scope: 'a', context: {} },
    { upstream, countTokens, budget },
    life(),
  );
  await call(settings);
  await call(settings);
  expect([asked, headers]).toEqual([['admit a', 'count a', 'count a'], { left: 'a' }]);
});

it('[C-28] [S-18] a response that another process began is not taken again', async () => {
  const { asked, budget } = recording();
  const { settings } = await withBudget({ scope: 'a', context: {} }, { upstream, countTokens, budget }, life(), true);
  await call(settings);
  expect(asked).toEqual(['resume a', 'count a']);
});

it('[C-28] a request that middlewares have taken is counted by all of them, and taken by the router if its budget is another', async () => {
  const [before, also, own] = [recording(), recording(), recording()];
  const contextOf = (): TurnContext => ({
    budgets: new Map([
      [before.budget, before.turn('x')],
      [also.budget, also.turn('y')],
    ]),
  });
  const [context, second] = [contextOf(), contextOf()];
  const same = await withBudget({ scope: 'a', context }, { upstream, countTokens, budget: also.budget }, life());
  await call(same.settings);
  const other = await withBudget(
    { scope: 'a', context: second },
    { upstream, countTokens, budget: own.budget },
    life(),
  );
  await call(other.settings);
  expect([before.asked, also.asked, own.asked]).toEqual([
    ['count x', 'count x'],
    ['count y', 'count y'],
    ['admit a', 'count a'],
  ]);
  // Nobody else counts them again.
  expect([same.headers, other.headers, context.budgets?.size, second.budgets?.size]).toEqual([
    undefined,
    { left: 'a' },
    0,
    0,
  ]);
});

it('[C-28] all of them are informed when the turn is over', async () => {
  const [before, own] = [recording(), recording()];
  const context: TurnContext = { budgets: new Map([[before.budget, before.turn('x')]]) };
  const turn = life();
  await withBudget({ scope: 'a', context }, { upstream, countTokens, budget: own.budget }, turn);
  turn.end();
  expect([before.asked, own.asked]).toEqual([['end x'], ['admit a', 'end a']]);
});

it('[C-28] a turn that is cut off ends when its call has been estimated', async () => {
  const { asked, budget } = recording();
  const turn = life();
  const tokens = gate<number>();
  const silent: Upstream = {
    name: 'cut',
    async *stream() {
      yield [{ type: 'text-delta', text: 'Hello' }];
      throw new Error('The connection broke.');
    },
  };
  const given = { upstream: silent, countTokens: () => tokens.opened, budget };
  const { settings } = await withBudget({ scope: 'a', context: {} }, given, turn);
  await call(settings).catch(() => {});
  turn.end();
  const meanwhile = [...asked];
  tokens.open(3);
  await new Promise(setImmediate);
  expect([meanwhile, asked]).toEqual([['admit a'], ['admit a', 'count a', 'end a']]);
});

it('[C-28] a request that the router’s own budget refuses is over for those of its middlewares', async () => {
  const before = recording();
  const context: TurnContext = { budgets: new Map([[before.budget, before.turn('x')]]) };
  const full: Budget = {
    async admit() {
      throw new ApiError('rate_limit_exceeded', 'Full.');
    },
    resume: before.budget.resume,
  };
  const refused = withBudget({ scope: 'a', context }, { upstream, countTokens, budget: full }, life());
  await expect(refused).rejects.toThrow('Full.');
  expect(before.asked).toEqual(['end x']);
});

it('[C-28] a budget of the host’s whose turns throw is a warning, and ends neither the answer nor the process', async () => {
  const failing = () => {
    throw new Error('The counter is broken.');
  };
  const broken: BudgetedTurn = { headers: {}, count: failing, end: failing };
  const budget: Budget = { admit: async () => broken, resume: () => broken };
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const turn = life();
  const { settings } = await withBudget({ scope: 'a', context: {} }, { upstream, countTokens, budget }, turn);
  await call(settings);
  turn.end();
  await new Promise(setImmediate);
  const warnings = warned.mock.calls.map(([warning]) => String(warning));
  warned.mockRestore();
  expect(warnings).toEqual([
    expect.stringContaining('budget.count threw: Error: The counter is broken.'),
    expect.stringContaining('budget.end threw: Error: The counter is broken.'),
  ]);
});
