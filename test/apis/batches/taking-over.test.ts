/** Batches whose process is gone, or comes back late: no finished line is run again, and none is lost. */
import { jest } from '@jest/globals';
import { memoryFiles } from '../../../src/files.ts';
import { memoryStore } from '../../../src/index.ts';
import type { BackgroundEngine, BackgroundWorker } from '../../../src/ports/background/background-engine.ts';
import type { EventLog } from '../../../src/ports/background/event-log.ts';
import type { ResponseKey, ResponseStore } from '../../../src/ports/store.ts';
import { chatCompletion, type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { type BatchesApp, create, ended, line, results, startBatchesApp, until } from './batches-app.ts';

const apps: BatchesApp[] = [];
let model: FakeUpstream;
beforeEach(async () => {
  model = await startFakeUpstream();
});
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  await model.close();
});

/** A queue of two processes, which runs the jobs of those that live; a job of one that is killed is another's. */
class SharedQueue {
  private readonly workers = new Map<BackgroundEngine, BackgroundWorker>();
  private readonly jobs = new Map<string, { key: ResponseKey; by: BackgroundEngine; stop: AbortController }>();
  private readonly dead = new Set<BackgroundEngine>();
  private readonly stops: { readonly by: BackgroundEngine; readonly stop: AbortController }[] = [];

  engine(): BackgroundEngine {
    const engine: BackgroundEngine = {
      name: 'shared',
      takesOver: true,
      start: (worker) => void this.workers.set(engine, worker),
      submit: async (key) => this.run(key),
      release: async () => this.kill(engine),
      close: async () => {},
    };
    return engine;
  }

  /** The process hears nothing of it, as one that is frozen. */
  freeze(engine: BackgroundEngine): void {
    this.dead.add(engine);
    for (const job of [...this.jobs.values()].filter(({ by }) => by === engine)) {
      this.jobs.delete(JSON.stringify(job.key));
      this.run(job.key);
    }
  }

  /** As a drain does. */
  kill(engine: BackgroundEngine): void {
    this.dead.add(engine);
    for (const { by, stop } of this.stops) if (by === engine) stop.abort(new Error('The engine is released.'));
  }

  private run(key: ResponseKey): void {
    const name = JSON.stringify(key);
    const [by, worker] = [...this.workers].find(([engine]) => !this.dead.has(engine)) ?? [];
    if (this.jobs.has(name) || !by || !worker) return;
    const job = { key, by, stop: new AbortController() };
    this.jobs.set(name, job);
    this.stops.push(job);
    void worker.run({ key, signal: job.stop.signal }).then((outcome) => {
      if (this.jobs.get(name) !== job) return;
      this.jobs.delete(name);
      if (outcome === 'released') this.run(key);
    });
  }
}

/** The memory store as if other processes saw it. */
function sharedStore(): ResponseStore {
  const store = memoryStore();
  return { ...store, events: { ...store.events, isShared: true } };
}

async function start(engine: BackgroundEngine, store: ResponseStore, files = memoryFiles()): Promise<BatchesApp> {
  const app = await startBatchesApp({ model, store, files, batches: { engine, secret: 'a key of sixteen bytes' } });
  apps.push(app);
  return app;
}

/** How often the model was asked for each line. */
function asked(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { body } of model.requests) {
    const id = /"(l\d+)"/.exec(JSON.stringify(body))?.[1] ?? '';
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

const LINES = Array.from({ length: 40 }, (_, index) => `l${index}`);

/** Answers so many lines, and then nothing until it is told to. */
function answerOnly(count: number): () => void {
  let isOpen = false;
  let left = count;
  model.reply(() => {
    left -= 1;
    return isOpen || left >= 0 ? { body: chatCompletion('Yes.') } : { hang: true };
  });
  return () => {
    isOpen = true;
  };
}

describe('a batch', () => {
  it.each(['freeze', 'kill'] as const)(
    '[E-10] goes on in another process after a %s: no finished line is repeated, none is lost',
    async (how) => {
      const queue = new SharedQueue();
      const [one, other] = [queue.engine(), queue.engine()];
      const [store, files] = [sharedStore(), memoryFiles()];
      const open = answerOnly(25);
      const first = await start(one, store, files);
      const second = await start(other, store, files);
      const client = second.client();
      const batch = await create(
        client,
        LINES.map((id) => line(id)),
      );
      await until(client, batch.id, ({ request_counts }) => request_counts?.completed === 25);
      open();
      queue[how](one);
      const over = await ended(client, batch);
      expect([over.status, over.request_counts, over.error_file_id]).toEqual([
        'completed',
        { total: 40, completed: 40, failed: 0 },
        null,
      ]);
      const found = await results(client, over.output_file_id);
      expect(found.map(({ custom_id }) => custom_id)).toEqual(LINES.toSorted());
      // Those that the first process was waiting for are asked again: 8 of a part at a time.
      const repeated = [...asked()].filter(([, count]) => count > 1);
      expect([asked().size, repeated.length <= 8, repeated.every(([, count]) => count === 2)]).toEqual([
        40,
        true,
        true,
      ]);
      expect([...first.errors, ...second.errors]).toEqual([]);
    },
  );

  it('[E-10] ends once, with the results of the process that has it, whatever one that comes back late writes', async () => {
    const queue = new SharedQueue();
    const [one, other] = [queue.engine(), queue.engine()];
    const [store, files] = [sharedStore(), memoryFiles()];
    let release = () => {};
    const late = new Promise<void>((resolve) => {
      release = resolve;
    });
    // The first process stops where it has written the results, before it says so.
    let isFirst = true;
    const slow: typeof files = Object.assign(Object.create(files), {
      async put(file: Parameters<typeof files.put>[0]) {
        const stored = await files.put(file);
        if (!stored.filename.endsWith('_output.jsonl') || !isFirst) return stored;
        isFirst = false;
        queue.freeze(one);
        await late;
        return stored;
      },
    });
    await start(one, store, slow);
    const second = await start(other, store, files);
    const client = second.client();
    const batch = await create(
      client,
      LINES.map((id) => line(id)),
    );
    const over = await ended(client, batch);
    release();
    const names = async () => (await client.files.list()).data.map(({ purpose }) => purpose).toSorted();
    while ((await names()).length > 2) await new Promise((resolve) => setTimeout(resolve, 10));
    expect([over.status, await names(), (await results(client, over.output_file_id)).length]).toEqual([
      ...['completed', ['batch', 'batch_output'], 40],
    ]);
    expect(await client.batches.retrieve(batch.id)).toEqual(over);
    expect([...asked().values()].every((count) => count === 1)).toBe(true);
  });

  it('[E-10] whose job the engine has lost goes on when its owner asks for it later', async () => {
    const queue = new SharedQueue();
    const engine = queue.engine();
    const lost = jest.spyOn(engine, 'submit').mockResolvedValueOnce();
    answerOnly(Number.POSITIVE_INFINITY);
    const app = await start(engine, sharedStore());
    const batch = await create(app.client(), [line('l0')]);
    const { status } = await app.client().batches.retrieve(batch.id);
    const submitted = lost.mock.calls.length;
    const passed = jest
      .spyOn(Date, 'now')
      .mockImplementation(() => performance.timeOrigin + performance.now() + 120_000);
    try {
      expect([status, submitted, (await ended(app.client(), batch)).status]).toEqual(['validating', 1, 'completed']);
    } finally {
      passed.mockRestore();
    }
  });

  it('[E-10] of a process without a shared engine goes on where the store’s answer to a result was lost', async () => {
    const store = memoryStore();
    const { events } = store;
    let isLost = false;
    const append: EventLog['append'] = async (key, more) => {
      const isKept = await events.append(key, more);
      if (isLost || more.events.length === 0) return isKept;
      isLost = true;
      throw new Error('The connection was lost.');
    };
    const app = await startBatchesApp({ model, store: { ...store, events: { ...events, append } } });
    apps.push(app);
    answerOnly(Number.POSITIVE_INFINITY);
    const client = app.client();
    const batch = await create(
      client,
      LINES.map((id) => line(id)),
    );
    const over = await ended(client, batch);
    expect([isLost, over.status, over.request_counts?.completed, asked().size]).toEqual([true, 'completed', 40, 40]);
    expect([...asked().values()].filter((count) => count > 1).length).toBeLessThanOrEqual(8);
  });

  it('[E-10] of a process without a shared engine is left to the one that has its lease', async () => {
    const [store, files] = [memoryStore(), memoryFiles()];
    let reads = 0;
    const get: ResponseStore['get'] = (key) => {
      reads += 1;
      return store.get(key);
    };
    const batches = { secret: 'a key of sixteen bytes' };
    const first = await startBatchesApp({ model, store: { ...store, get }, files, batches });
    const second = await startBatchesApp({ model, store, files, batches });
    apps.push(first, second);
    const waiting: { readonly id: string; readonly answer: () => void }[] = [];
    model.reply(({ body }) => {
      const [id = ''] = /l[01]/.exec(JSON.stringify(body).slice(-200)) ?? [];
      return new Promise((resolve) => waiting.push({ id, answer: () => resolve({ body: chatCompletion('Yes.') }) }));
    });
    const isTrue = async (so: () => boolean) => {
      while (!so()) await new Promise((resolve) => setTimeout(resolve, 10));
    };
    // Each is a part of its own.
    const filling = { role: 'user', content: 'x'.repeat(4 * 1024 * 1024) };
    const lines = ['l0', 'l1'].map((id) => line(id, { input: [filling, { role: 'user', content: id }] }));
    const batch = await create(first.client(), lines);
    await isTrue(() => waiting.length === 2);
    const passed = jest
      .spyOn(Date, 'now')
      .mockImplementation(() => performance.timeOrigin + performance.now() + 120_000);
    try {
      await second.client().batches.retrieve(batch.id);
      await isTrue(() => waiting.length === 4);
      // Thereby the first process learns that this part is another's, while it still has the other part.
      waiting.find(({ id }) => id === 'l0')?.answer();
      const before = reads;
      await isTrue(() => reads > before + 4);
      for (const { answer } of waiting) answer();
      const over = await ended(second.client(), batch);
      expect([over.status, over.request_counts?.completed, waiting.length]).toEqual(['completed', 2, 4]);
    } finally {
      passed.mockRestore();
    }
  });

  it('[E-10] of a process without a shared engine goes on when its owner asks for it after a restart', async () => {
    const [store, files] = [memoryStore(), memoryFiles()];
    const open = answerOnly(25);
    const first = await startBatchesApp({ model, store, files, batches: { secret: 'a key of sixteen bytes' } });
    const batch = await create(
      first.client(),
      LINES.map((id) => line(id)),
    );
    await until(first.client(), batch.id, ({ request_counts }) => request_counts?.completed === 25);
    open();
    await first.close();
    const second = await startBatchesApp({ model, store, files, batches: { secret: 'a key of sixteen bytes' } });
    apps.push(second);
    const over = await ended(second.client(), batch);
    expect([over.status, over.request_counts?.completed, asked().size]).toEqual(['completed', 40, 40]);
    expect([...asked().values()].filter((count) => count > 1).length).toBeLessThanOrEqual(8);
  });
});
