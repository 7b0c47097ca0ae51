/** Tenants that share a process with a greedy one, and the memory that large batches take. */
import { createHash } from 'node:crypto';
import { batchLimits } from '../../../src/apis/batches/limits.ts';
import { readLines } from '../../../src/apis/batches/lines/read-lines.ts';
import { validateInput } from '../../../src/apis/batches/lines/validate-input.ts';
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { chatCompletion } from '../../../src/testing/index.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { type BatchesApp, create, ended, line, startBatchesApp, until } from './batches-app.ts';

let app: BatchesApp | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

describe('a greedy batch', () => {
  /** A batch of the greedy tenant, whose lines the model answers only as they are let go; and who was asked about, in order. */
  async function startGreedy(running: BatchesApp) {
    const held: (() => void)[] = [];
    const asked: ('greedy' | 'other')[] = [];
    let isOpen = false;
    running.model.reply(async ({ body }) => {
      const isGreedy = JSON.stringify(body).includes('greedy');
      asked.push(isGreedy ? 'greedy' : 'other');
      if (isGreedy && !isOpen) await new Promise<void>((resolve) => held.push(resolve));
      return { body: chatCompletion('Yes.') };
    });
    const lines = Array.from({ length: 1000 }, (_, index) => line(`greedy ${index}`));
    const client = running.client('greedy');
    const batch = await create(client, lines);
    const end = async () => {
      isOpen = true;
      for (const letGo of held) letGo();
      await client.batches.cancel(batch.id);
      await ended(client, batch);
    };
    return { held, asked, end };
  }

  /** Waits until it is so. */
  async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await isSo())) {
      if (performance.now() > deadline) throw new Error('It never came to be.');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  it('[E-10] leaves the next turn but one to the single request of another tenant', async () => {
    app = await startBatchesApp({
      router: { limits: { turns: { concurrentTurns: 4, queuedTurns: 100, queueTimeoutMs: 3_600_000 } } },
      batches: { quota: { parallelLines: 64 } },
    });
    const running = app;
    const { held, asked, end } = await startGreedy(running);
    // Of each of its two parts 8 lines: all places are taken, and the other lines wait for them.
    await eventually(async () => (await running.turns()).waiting === 12);
    const single = running.client('other').responses.create({ model: 'fake-model', input: 'one' });
    await eventually(async () => (await running.turns()).waiting === 13);
    for (let count = 4; !asked.includes('other'); count += 1) {
      held.shift()?.();
      await eventually(() => asked.length > count);
    }
    expect(asked.slice(4).indexOf('other')).toBeLessThanOrEqual(1);
    await single;
    await end();
  });

  it('[E-10] leaves a place to the batch of another tenant, which ends while all of the greedy one wait', async () => {
    app = await startBatchesApp({ batches: { quota: { parallelLines: 3 } } });
    const { asked, end } = await startGreedy(app);
    await eventually(() => asked.length === 2);
    const other = app.client('other');
    const lines = ['one', 'two', 'three'].map((id) => line(id));
    const over = await ended(other, await create(other, lines));
    expect(over.request_counts?.completed).toBe(3);
    expect(asked).toEqual(['greedy', 'greedy', 'other', 'other', 'other']);
    await end();
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

  it('[E-10] of more than one part is answered, and counted while it runs', async () => {
    app = await startBatchesApp();
    const client = app.client();
    const batch = await create(
      client,
      Array.from({ length: 501 }, (_, index) => line(`${index}`)),
    );
    const running = await until(client, batch.id, ({ request_counts }) => Number(request_counts?.completed) > 0);
    expect(running.request_counts?.total).toBe(501);
    const over = await ended(client, batch);
    expect([over.status, over.request_counts]).toEqual(['completed', { total: 501, completed: 501, failed: 0 }]);
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
