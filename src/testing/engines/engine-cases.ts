/** The background engine contract: each response is run once, by one worker at a time, until it has ended or is handed over. */
import assert from 'node:assert/strict';
import { type EngineCase, freshKey, freshKeys, RecordingWorker, untilAborted } from './engine-case.ts';

/** Longer than an engine takes to run a response that need not wait. */
const DELAY_MS = 3000;
const NEVER = new Error('This worker breaks its promise never to reject.');

/** The cases that every engine passes. */
export const engineCases: readonly EngineCase[] = [
  {
    name: '[S-18] runs a response that is submitted, once and under its key',
    async run({ create }) {
      const [engine, worker, key] = [await create(), new RecordingWorker(), freshKey()];
      engine.start(worker);
      await engine.submit(key);
      await worker.until(() => worker.finished === 1);
      await engine.release();
      assert.deepEqual([worker.keys, worker.errors], [[key], []]);
    },
  },
  {
    name: '[S-18] runs the same id of two scopes, whatever characters they have',
    async run({ create }) {
      const [engine, worker] = [await create(), new RecordingWorker()];
      const keys = ['a:b', 'ä "🧑‍🚀"', '\u0000', '\ud800'].map((scope) => ({ ...freshKey(), scope }));
      engine.start(worker);
      for (const key of keys) await engine.submit(key);
      await worker.until(() => worker.finished === keys.length);
      assert.deepEqual(new Set(worker.keys.map(({ scope }) => scope)), new Set(keys.map(({ scope }) => scope)));
    },
  },
  {
    name: '[S-18] runs a response that is submitted twice only once, before and while it runs',
    async run({ create }) {
      const [engine, worker, key] = [await create(), new RecordingWorker(untilAborted), freshKey()];
      engine.start(worker);
      await Promise.all([engine.submit(key), engine.submit(key)]);
      await worker.until(() => worker.running === 1);
      await engine.submit(key);
      const other = freshKey();
      await engine.submit(other);
      await worker.until(() => worker.running === 2);
      assert.deepEqual(worker.keys, [key, other]);
    },
  },
  {
    name: '[E-11] runs a response that is submitted with a delay after one without, and once',
    async run({ create }) {
      const [engine, worker] = [await create(), new RecordingWorker()];
      const [late, early] = [freshKey('resp_late'), freshKey('resp_early')];
      engine.start(worker);
      await engine.submit(late, { delayMs: DELAY_MS });
      await engine.submit(late, { delayMs: DELAY_MS });
      await engine.submit(early);
      await worker.until(() => worker.finished === 2);
      await engine.release();
      assert.deepEqual([worker.keys, worker.errors], [[early, late], []]);
    },
  },
  {
    name: '[E-11] ends at once with responses whose delay is not over',
    async run({ create }) {
      const [engine, worker] = [await create(), new RecordingWorker()];
      engine.start(worker);
      await engine.submit(freshKey(), { delayMs: 24 * 60 * 60_000 });
      await engine.release();
      await engine.close();
      assert.deepEqual(worker.keys, []);
    },
  },
  {
    name: '[S-18] aborts a running response when released, and waits for its end',
    async run({ create }) {
      const [engine, worker] = [await create(), new RecordingWorker(untilAborted)];
      engine.start(worker);
      for (const key of freshKeys(3)) await engine.submit(key);
      await worker.until(() => worker.running === 3);
      await engine.release();
      assert.deepEqual([worker.running, worker.finished, worker.errors], [0, 3, []]);
    },
  },
  {
    name: '[S-18] reports a worker that rejects or throws, and continues',
    async run({ create }) {
      const engine = await create();
      const bad = new Set(['resp_0000', 'resp_0001']);
      const worker = new RecordingWorker();
      const onError = worker.onError.bind(worker);
      const run = (claimed: Parameters<typeof worker.run>[0]) => {
        const { id } = claimed.key;
        if (!bad.delete(id)) return worker.run(claimed);
        if (id === 'resp_0000') throw NEVER;
        return Promise.reject(NEVER);
      };
      engine.start({ run, onError });
      for (const key of freshKeys(3)) await engine.submit(key);
      await worker.until(() => worker.ids.includes('resp_0002') && worker.errors.length === 2);
      assert.deepEqual(worker.errors, [NEVER, NEVER]);
    },
  },
  {
    name: '[S-18] continues if the worker throws on a report',
    async run({ create }) {
      const [engine, worker] = [await create(), new RecordingWorker()];
      let reports = 0;
      engine.start({
        run: (claimed) =>
          claimed.key.id === 'resp_0000' && reports === 0 ? Promise.reject(NEVER) : worker.run(claimed),
        onError() {
          reports += 1;
          throw NEVER;
        },
      });
      for (const key of freshKeys(2)) await engine.submit(key);
      await worker.until(() => worker.ids.includes('resp_0001') && reports > 0);
    },
  },
  {
    name: '[S-18] throws a TypeError when it is started a second time',
    async run({ create }) {
      const engine = await create();
      engine.start(new RecordingWorker());
      assert.throws(() => engine.start(new RecordingWorker()), TypeError);
    },
  },
  {
    name: '[S-18] accepts nothing more once it is released',
    async run({ create }) {
      const [engine, worker] = [await create(), new RecordingWorker()];
      engine.start(worker);
      await engine.release();
      await assert.rejects(engine.submit(freshKey()));
      assert.deepEqual(worker.keys, []);
    },
  },
  {
    name: '[S-18] can be released and closed twice, started or not',
    async run({ create }) {
      for (const engine of [await create(), await create()]) {
        if (engine.takesOver) await engine.submit(freshKey());
        else engine.start(new RecordingWorker());
        await Promise.all([engine.release(), engine.release()]);
        await Promise.all([engine.close(), engine.close()]);
        await engine.release();
        await engine.close();
      }
    },
  },
];

/** The cases of engines whose responses outlive their process; another engine passes. */
export const sharedEngineCases: readonly EngineCase[] = [
  {
    name: '[X-08] runs each response on one of two engines',
    async run({ create }) {
      const [one, other] = [await create(), await create()];
      const worker = new RecordingWorker();
      for (const engine of [one, other]) engine.start(worker);
      const keys = freshKeys(60);
      await Promise.all(keys.map((key, index) => (index % 2 === 0 ? one : other).submit(key)));
      await worker.until(() => worker.finished >= keys.length);
      await Promise.all([one.release(), other.release()]);
      assert.deepEqual([worker.ids, worker.errors], [keys.map(({ id }) => id), []]);
    },
  },
  {
    name: '[X-08] keeps a response that is submitted before any worker starts',
    async run({ create }) {
      const [one, other, worker, key] = [await create(), await create(), new RecordingWorker(), freshKey()];
      await one.submit(key);
      await one.close();
      other.start(worker);
      await worker.until(() => worker.finished === 1);
      assert.deepEqual(worker.keys, [key]);
    },
  },
  {
    name: '[E-11] keeps a response whose delay is not over when its engine closes',
    async run({ create }) {
      const [one, other, worker, key] = [await create(), await create(), new RecordingWorker(), freshKey()];
      await one.submit(key, { delayMs: DELAY_MS });
      await one.close();
      other.start(worker);
      await worker.until(() => worker.finished === 1);
      assert.deepEqual(worker.keys, [key]);
    },
  },
  {
    name: '[X-08] hands over to the other engine what it releases',
    async run({ create }) {
      const [one, other] = [await create(), await create()];
      const [first, second] = [new RecordingWorker(untilAborted), new RecordingWorker()];
      const keys = freshKeys(5);
      one.start(first);
      for (const key of keys) await one.submit(key);
      await first.until(() => first.running === keys.length);
      other.start(second);
      await one.release();
      await second.until(() => second.finished === keys.length);
      await other.release();
      assert.deepEqual([first.ids, second.ids], [keys.map(({ id }) => id), keys.map(({ id }) => id)]);
      assert.deepEqual([...first.errors, ...second.errors], []);
    },
  },
  {
    name: '[X-08] runs no more at the same time than its concurrency',
    async run({ create }) {
      const engine = await create({ concurrency: 2 });
      const worker: RecordingWorker = new RecordingWorker(async () => {
        await worker.until(() => worker.running === 2 || worker.keys.length === keys.length);
        return 'ended';
      });
      const keys = freshKeys(8);
      engine.start(worker);
      await Promise.all(keys.map((key) => engine.submit(key)));
      await worker.until(() => worker.finished === keys.length);
      assert.deepEqual([worker.ids, worker.mostRunning], [keys.map(({ id }) => id), 2]);
    },
  },
  {
    name: '[X-08] runs again what its worker hands back',
    async run({ create }) {
      const engine = await create();
      const worker: RecordingWorker = new RecordingWorker(async () =>
        worker.keys.length === 1 ? 'released' : 'ended',
      );
      const key = freshKey();
      engine.start(worker);
      await engine.submit(key);
      await worker.until(() => worker.finished === 2);
      await engine.release();
      assert.deepEqual(worker.keys, [key, key]);
    },
  },
];
