/** The vector index contract on vector stores, files, batches, counts and pages. */
import assert from 'node:assert/strict';
import { MAX_BATCHES, type VectorPageQuery } from '../../ports/vectors/vector-index.ts';
import {
  claimNext,
  createSearchable,
  fillStore,
  foundTexts,
  indexNext,
  makeFile,
  makeStore,
  query,
  type VectorCase,
  vector,
} from './vector-case.ts';

const chunk = { text: 'new', embedding: vector(1, 0) };

export const storeCases: readonly VectorCase[] = [
  {
    name: '[X-14] keeps, replaces and deletes vector stores',
    async run({ index }) {
      const store = makeStore({ name: 'Ä "quoted" \u0000 \ud800', metadata: { ключ: '\u0000' }, expiresAfterMs: 5e12 });
      assert.equal(await index.putStore(store, 'replace'), false);
      assert.equal(await index.getStore(store), undefined);
      await index.putStore(store, 'create');
      assert.deepEqual({ ...(await index.getStore(store)) }, store);
      const changed = makeStore({ scope: store.scope, id: store.id, name: '', metadata: {}, lastActiveAt: 3000 });
      assert.equal(await index.putStore(changed, 'replace'), true);
      const got = await index.getStore(store);
      assert.deepEqual([got?.name, got?.metadata, got?.lastActiveAt, got?.expiresAfterMs], ['', {}, 3000, undefined]);
      const deleted = await Promise.all([1, 2, 3].map(async () => index.deleteStore(store)));
      assert.equal(deleted.filter(Boolean).length, 1);
      assert.equal(await index.getStore(store), undefined);
      assert.equal(await index.countStores(store.scope), 0);
    },
  },
  {
    name: '[X-14] finds nothing of a deleted vector store or of another tenant’s',
    async run({ index }) {
      const { store, file } = await createSearchable(index, { 'red apples': vector(1, 0) });
      const foreign = { ...store, scope: 'another' };
      const key = { ...file, scope: 'another' };
      assert.deepEqual(
        [
          await index.getStore(foreign),
          await index.deleteStore(foreign),
          await index.putStore(foreign, 'replace'),
          await index.addFiles(foreign, [key]),
          await index.getFile(key),
          await index.deleteFile(key),
          await index.setAttributes(key, {}),
          (await index.chunkTexts(key, 0, 9)).length,
          (await index.nearest(query([foreign]), vector(1, 0))).length,
          (await index.matching(query([foreign]), 'apples')).length,
          (await index.countFiles(foreign)).completed,
        ],
        [undefined, false, false, false, undefined, false, undefined, 0, 0, 0, 0],
      );
      await index.deleteStore(store);
      assert.equal((await index.nearest(query([store]), vector(1, 0))).length, 0);
      assert.equal((await index.matching(query([store]), 'apples')).length, 0);
      assert.equal(await index.getFile(file), undefined);
      assert.equal(await index.addFiles(store, [file]), false);
    },
  },
  {
    name: '[X-14] pages through vector stores in both directions',
    async run({ index }) {
      const [first, ...others] = ['b', 'a', 'c', 'd', 'e'];
      const { scope } = makeStore();
      const ids = [first ?? '', ...others];
      // The first two are of one time, and ordered by id.
      for (const [at, id] of ids.entries())
        await index.putStore(makeStore({ scope, id, createdAt: Math.max(1, at) }), 'create');
      await index.putStore(makeStore({ id: 'f' }), 'create');
      const page = async (fields: Partial<VectorPageQuery>) => {
        const found = await index.listStores(scope, { limit: 2, order: 'asc', ...fields });
        const rest = found.unknown ? '?' : found.hasMore ? '+' : '';
        return found.entries.map(({ id }) => id).join('') + rest;
      };
      assert.deepEqual(
        [
          await page({}),
          await page({ after: 'b' }),
          await page({ after: 'd' }),
          await page({ before: 'd' }),
          await page({ before: 'c' }),
          await page({ before: 'a' }),
          await page({ order: 'desc' }),
          await page({ order: 'desc', after: 'b' }),
          await page({ order: 'desc', before: 'b' }),
          await page({ after: 'a', before: 'd', limit: 9 }),
          await page({ after: 'f' }),
          await page({ before: 'f' }),
        ],
        ['ab+', 'cd+', 'e', 'bc+', 'ab', '', 'ed+', 'a', 'dc+', 'bc', '?', '?'],
      );
      assert.equal(await index.countStores(scope), 5);
    },
  },
  {
    name: '[G-08] keeps the newest batches of a vector store, until it expires',
    async run({ index, clock }) {
      const store = makeStore({ lastActiveAt: clock.now(), expiresAfterMs: 3_600_000 });
      await index.putStore(store, 'create');
      const keyOf = (number: number) => ({ scope: store.scope, store: store.id, id: `batch_${number}` });
      for (let number = 0; number <= MAX_BATCHES; number += 1)
        await index.addFiles(store, [], { ...keyOf(number), createdAt: 1000 + number });
      const found = async (number: number) => (await index.getBatch(keyOf(number))) !== undefined;
      assert.deepEqual([await found(0), await found(1), await found(MAX_BATCHES)], [false, true, true]);
      await clock.advance(3_600_001);
      await index.putStore(makeStore(), 'create');
      assert.deepEqual([await found(1), await found(MAX_BATCHES)], [false, false]);
    },
  },
  {
    name: '[X-14] counts and lists files by status and batch, and cancels the files of a batch that are in progress',
    async run({ index }) {
      const store = makeStore();
      await index.putStore(store, 'create');
      const key = { scope: store.scope, store: store.id, id: 'batch_1' };
      const batch = { ...key, createdAt: 1500 };
      const files = ['f1', 'f2', 'f3'].map((id, at) => makeFile(store, { id, batch: 'batch_1', createdAt: 1000 + at }));
      assert.equal(await index.addFiles(store, files, batch), true);
      await index.addFiles(store, [makeFile(store, { id: 'f4', createdAt: 1010 })]);
      await indexNext(index, { äpfel: vector(1, 0) });
      const running = await claimNext(index);
      const error = { code: 'invalid_file', message: 'No text.' } as const;
      await index.endClaim(running, { status: 'failed', error });
      assert.deepEqual((await index.getFile(running.file))?.error, error);
      await index.cancelBatch(key);
      assert.deepEqual({ ...(await index.getBatch(key)) }, batch);
      assert.equal(await index.getBatch({ ...key, scope: 'another' }), undefined);
      const none = { in_progress: 0, completed: 1, failed: 1, cancelled: 1, bytes: 6 + 8 };
      assert.deepEqual({ ...(await index.countFiles(store, 'batch_1')) }, none);
      assert.deepEqual({ ...(await index.countFiles(store)) }, { ...none, in_progress: 1 });
      const listed = async (fields: object) => {
        const page = await index.listFiles(store, { limit: 9, order: 'desc', ...fields });
        return page.unknown ? '?' : page.entries.map(({ id, status }) => `${id} ${status}`).join(', ');
      };
      assert.deepEqual(
        [await listed({ batch: 'batch_1' }), await listed({ status: 'in_progress' }), await listed({ after: 'f9' })],
        ['f3 cancelled, f2 failed, f1 completed', 'f4 in_progress', '?'],
      );
      assert.equal(await listed({ status: 'completed', after: 'f2' }), 'f1 completed');
    },
  },
  {
    name: '[X-14] keeps the attributes of a file, and its texts in order',
    async run({ index }) {
      const attributes = { text: 'ü"\u0000', number: -1.5, flag: false };
      const store = makeStore();
      const file = makeFile(store, { filename: '\ud800 "x".txt', attributes, batch: 'batch_1' });
      await fillStore(index, store, [file]);
      assert.deepEqual({ ...(await index.getFile(file)) }, { ...file, status: 'in_progress', bytes: 0 });
      await indexNext(index, { one: vector(1), two: vector(2), three: vector(3) });
      assert.deepEqual((await index.setAttributes(file, { other: 1 }))?.attributes, { other: 1 });
      assert.deepEqual((await index.getFile(file))?.attributes, { other: 1 });
      assert.deepEqual([...(await index.chunkTexts(file, 1, 1))], ['two']);
      assert.deepEqual([...(await index.chunkTexts(file, 1, 9))], ['two', 'three']);
      assert.equal(await index.deleteFile(file), true);
      assert.equal(await index.deleteFile(file), false);
      assert.deepEqual([...(await index.chunkTexts(file, 0, 9))], []);
    },
  },
  {
    name: '[X-14] removes the chunks of an expired vector store with a later write, for good; its files stay',
    async run({ index, clock }) {
      const expiry = { lastActiveAt: clock.now(), expiresAfterMs: 60_000 };
      const [{ store, file }, kept] = [
        await createSearchable(index, { old: vector(1, 0) }, expiry),
        await createSearchable(index, { kept: vector(1, 0) }, expiry),
      ];
      await index.addFiles(store, [makeFile(store, { createdAt: 1001 })]);
      const claim = await claimNext(index);
      await index.addChunks(claim, 0, [chunk]);
      await index.putStore({ ...kept.store, lastActiveAt: clock.now() + 30_000 }, 'replace');
      assert.equal((await index.countFiles(store)).bytes, 22);
      await clock.advance(60_000);
      await index.putStore(makeStore(), 'create');
      const counts = { in_progress: 0, completed: 1, failed: 0, cancelled: 1, bytes: 0 };
      assert.deepEqual({ ...(await index.countFiles(store)) }, counts);
      assert.deepEqual(
        [
          (await index.chunkTexts(file, 0, 9)).length,
          await index.addChunks(claim, 1, [chunk]),
          await index.addFiles(store, [file]),
          await index.putStore({ ...store, lastActiveAt: clock.now() }, 'replace'),
        ],
        [0, false, false, false],
      );
      assert.deepEqual(foundTexts(await index.matching(query([kept.store]), 'kept')), ['kept']);
    },
  },
];
