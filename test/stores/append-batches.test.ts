/** Appends that share statements: which ones, and what happens to the others while one is slow or fails. */
import { jest } from '@jest/globals';
import { AppendBatches, type KeyedAppend } from '../../src/stores/postgres/append-batches.ts';

const append = { epoch: 1, from: 0, events: ['{}'], state: '{}' };
const keyOf = (index: number) => ({ scope: 's', id: `resp_${index}` });

/** Statements that the test answers, each with the ids of its logs. */
function statements() {
  const open: { ids: readonly string[]; answer(written: ReadonlySet<number>): void; fail(error: Error): void }[] = [];
  const batches = new AppendBatches((appends: readonly KeyedAppend[]) => {
    const ids = appends.map(({ key }) => key.id);
    return new Promise((answer, fail) => open.push({ ids, answer, fail }));
  });
  return { batches, open };
}

/** One turn of the event loop, and those that it causes. */
async function turns(): Promise<void> {
  for (let count = 0; count < 5; count += 1) await new Promise((resolve) => setImmediate(resolve));
}

afterEach(() => jest.useRealTimers());

describe('appends to the logs of many responses', () => {
  it('share one statement if they come together, and each has its own answer', async () => {
    const { batches, open } = statements();
    const answers = [0, 1, 2].map((index) => batches.append(keyOf(index), append));
    await turns();
    expect(open.map(({ ids }) => ids)).toEqual([['resp_0', 'resp_1', 'resp_2']]);
    open[0]?.answer(new Set([0, 2]));
    expect(await Promise.all(answers)).toEqual([true, false, true]);
  });

  it('never share one with another append to the same log, which comes after them', async () => {
    const { batches, open } = statements();
    const answers = [0, 1, 0].map((index) => batches.append(keyOf(index), append));
    await turns();
    expect(open.map(({ ids }) => ids)).toEqual([['resp_0', 'resp_1'], ['resp_0']]);
    for (const { answer } of open) answer(new Set([0, 1]));
    expect(await Promise.all(answers)).toEqual([true, true, true]);
  });

  it('wait while two statements run, and then go together', async () => {
    const { batches, open } = statements();
    const answers: Promise<boolean>[] = [];
    for (let index = 0; index < 6; index += 1) {
      answers.push(batches.append(keyOf(index), append));
      await turns();
    }
    expect(open.map(({ ids }) => ids)).toEqual([['resp_0'], ['resp_1']]);
    open[0]?.answer(new Set([0]));
    await turns();
    expect(open[2]?.ids).toEqual(['resp_2', 'resp_3', 'resp_4', 'resp_5']);
    for (const { answer } of open) answer(new Set([0, 1, 2, 3]));
    expect(await Promise.all(answers)).toEqual(answers.map(() => true));
  });

  it('[G-07] of a greedy tenant leave a place in the next statement to another’s, and in each to one that is large', async () => {
    const { batches, open } = statements();
    const answers = [0, 1].map((index) => batches.append(keyOf(index), append));
    await turns();
    const many = { ...append, state: 'x'.repeat(9_000) };
    for (let index = 2; index < 502; index += 1) {
      answers.push(batches.append(keyOf(index), many));
      if (index === 2) await turns();
    }
    answers.push(batches.append({ scope: 'modest', id: 'modest' }, { ...append, state: 'x'.repeat(9_000) }));
    open[0]?.answer(new Set([0, 1]));
    await turns();
    expect([open[2]?.ids.length, open[2]?.ids.indexOf('modest')]).toEqual([100, 1]);
    for (let next = 1; next < 8; next += 1) {
      open[next]?.answer(new Set(Array.from({ length: 100 }, (_, index) => index)));
      await turns();
    }
    expect(await Promise.all(answers)).toEqual(answers.map(() => true));
  });

  it('all fail with their statement, and the next ones are written', async () => {
    const { batches, open } = statements();
    const answers = [0, 1].map((index) => batches.append(keyOf(index), append).catch(String));
    await turns();
    open[0]?.fail(new Error('gone'));
    expect(await Promise.all(answers)).toEqual(['Error: gone', 'Error: gone']);
    const next = batches.append(keyOf(0), append);
    await turns();
    open[1]?.answer(new Set([0]));
    expect(await next).toBe(true);
  });

  it('are written one by one if the database refuses a value, so that only its own append fails', async () => {
    const refusal = Object.assign(new Error('refused'), { code: '23514' });
    const sizes: number[] = [];
    const batches = new AppendBatches(async (appends) => {
      sizes.push(appends.length);
      if (appends.some(({ key }) => key.id === 'resp_1')) throw refusal;
      return new Set(appends.keys());
    });
    const answers = [0, 1, 2].map((index) => batches.append(keyOf(index), append).catch(String));
    expect([await Promise.all(answers), sizes]).toEqual([
      [true, 'Error: refused', true],
      [3, 1, 1, 1],
    ]);
  });

  it('do not wait for statements that never answer, and count none of them twice if they do', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    const { batches, open } = statements();
    for (let index = 0; index < 4; index += 1) {
      void batches.append(keyOf(index), append);
      await turns();
    }
    expect(open.length).toBe(2);
    await jest.advanceTimersByTimeAsync(2000);
    await turns();
    expect(open.map(({ ids }) => ids)).toEqual([['resp_0'], ['resp_1'], ['resp_2', 'resp_3']]);
    for (const { answer } of open) answer(new Set([0, 1]));
    await turns();
    for (let index = 0; index < 4; index += 1) {
      void batches.append(keyOf(index), append);
      await turns();
    }
    expect(open.length).toBe(5);
  });

  it('are at most a hundred in a statement, and few if they are long', async () => {
    const { batches, open } = statements();
    for (let index = 0; index < 150; index += 1) void batches.append(keyOf(index), append);
    await turns();
    expect(open.map(({ ids }) => ids.length)).toEqual([100, 50]);
    for (const { answer } of open) answer(new Set());
    await turns();
    const long = { ...append, events: ['x'.repeat(600_000)] };
    for (let index = 0; index < 3; index += 1) void batches.append(keyOf(index), long);
    await turns();
    expect(open.slice(2).map(({ ids }) => ids.length)).toEqual([1, 1]);
  });
});
