/** Tenants that share a process with a greedy one, and the memory that large batches take. */
import { createHash } from 'node:crypto';
import { batchLimits } from '../../../src/apis/batches/limits.ts';
import { readLines } from '../../../src/apis/batches/lines/read-lines.ts';
import { validateInput } from '../../../src/apis/batches/lines/validate-input.ts';
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { chatCompletion } from '../../../src/testing/index.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { type BatchesApp, create, ended, line, startBatchesApp, until } from './batches-app.ts';

let app: BatchesApp | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

describe('a greedy batch', () => {
  it('[E-10] leaves room for the single request of another tenant, and for its batch', async () => {
    app = await startBatchesApp({
      router: { limits: { turns: { concurrentTurns: 4, queuedTurns: 100, queueTimeoutMs: 3_600_000 } } },
      batches: { quota: { parallelLines: 8 } },
    });
    // The greedy tenant's model answers none of its lines until the other has its answers.
    let isOpen = false;
    const waiting: (() => void)[] = [];
    app.model.reply(async ({ body }) => {
      if (JSON.stringify(body).includes('greedy') && !isOpen)
        await new Promise<void>((resolve) => waiting.push(resolve));
      return { body: chatCompletion('Yes.') };
    });
    const [greedy, other] = [app.client('greedy'), app.client('other')];
    const batch = await create(
      greedy,
      Array.from({ length: 1000 }, (_, index) => line(`greedy ${index}`)),
    );
    while (waiting.length < 4) await new Promise((resolve) => setTimeout(resolve, 10));
    // All places are taken: the next one that is free goes round, and not to the lines that have waited for longer.
    const single = other.responses.create({ model: 'fake-model', input: 'one' });
    const small = create(other, [line('small')]);
    const asked = () => app?.model.requests.map(({ body }) => JSON.stringify(body).includes('greedy')) ?? [];
    const { id } = await small;
    while (asked().filter((isGreedy) => !isGreedy).length < 2) {
      waiting.shift()?.();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await single;
    await ended(other, { id });
    // Of a thousand lines few were asked for before the other tenant had its two answers.
    expect(asked().length).toBeLessThan(100);
    isOpen = true;
    for (const wake of waiting) wake();
    await greedy.batches.cancel(batch.id);
    await ended(greedy, batch);
  });

  it('[E-10] keeps to the budget of its tenant: its lines are refused, and no longer asked', async () => {
    const budget = tokenBudget({ limits: { requests: { points: 3, duration: 2 * 24 * 3600 } } });
    app = await startBatchesApp({ router: { budget }, batches: { quota: { lineAttempts: 1, parallelLines: 1 } } });
    const client = app.client();
    const over = await ended(
      client,
      await create(
        client,
        Array.from({ length: 6 }, (_, index) => line(`${index}`)),
      ),
    );
    expect([over.request_counts, app.model.requests.length]).toEqual([{ total: 6, completed: 3, failed: 3 }, 3]);
  });

  it('[E-10] of many parts is answered, and counted while it runs', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const batch = await create(
      client,
      Array.from({ length: 1300 }, (_, index) => line(`${index}`)),
    );
    const running = await until(client, batch.id, ({ request_counts }) => Number(request_counts?.completed) > 0);
    expect(running.request_counts?.total).toBe(1300);
    const over = await ended(client, batch);
    expect([over.status, over.request_counts]).toEqual(['completed', { total: 1300, completed: 1300, failed: 0 }]);
  });
});

describe('the input of a batch', () => {
  /** So many lines, a piece of bytes at a time. */
  async function* pieces(count: number): AsyncGenerator<Uint8Array, void> {
    for (let from = 0; from < count; from += 100)
      yield Buffer.from(Array.from({ length: 100 }, (_, index) => `${line(`id-${from + index}`)}\n`).join(''));
  }

  it('[E-10] of 100,000 lines is held as a digest for each of them, and in parts by their places', async () => {
    const limits = batchLimits('test');
    const { parts, total, faults } = await validateInput(pieces(100_000), '/v1/responses', limits);
    expect([total, parts.length, faults, parts.every(({ lines }) => lines <= 500)]).toEqual([100_000, 200, [], true]);
    // The parts are the lines without their ends, in order.
    expect(parts.slice(1).every(({ start }, index) => start === Number(parts[index]?.end) + 1)).toBe(true);
  });

  it('[E-10] is read with work that grows with its length alone', async () => {
    await expectLinearWork(8000, async (size) => {
      for await (const _ of readLines(pieces(size), 1000));
    });
  });

  it('[E-10] is the same wherever its bytes are split, and a line that is too long is not held', async () => {
    const text = `\ufeff{"a":1}\r\n\n  \n${'x'.repeat(50)}\n{"é":"🧑‍🚀"}`;
    const bytes = Buffer.from(text);
    const reads = await Promise.all(
      [1, 2, 3, 7, bytes.length].map(async (size) => {
        async function* split() {
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
        }
        const lines = [];
        for await (const each of readLines(split(), 40)) lines.push(each);
        return lines;
      }),
    );
    expect(new Set(reads.map((lines) => createHash('sha1').update(JSON.stringify(lines)).digest('hex'))).size).toBe(1);
    expect(reads[0]?.map(({ number, text: found }) => [number, found])).toEqual([
      [1, '{"a":1}'],
      [4, undefined],
      [5, '{"é":"🧑‍🚀"}'],
    ]);
  });
});
