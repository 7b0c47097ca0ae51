/** The vector index contract on claims of files, and the chunks that they store. */
import assert from 'node:assert/strict';
import {
  assertMismatch,
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

const one = { text: 'one', embedding: vector(1, 0) };
const two = { text: 'two', embedding: vector(0, 1) };

export const claimCases: readonly VectorCase[] = [
  {
    name: '[X-14] lets one process claim a file until the claim expires, then another, which continues after the stored chunks',
    async run({ index }) {
      const store = makeStore();
      await fillStore(index, store, [makeFile(store)]);
      const first = await claimNext(index, 2000, 3000);
      assert.deepEqual([first.attempts, first.chunks], [1, 0]);
      assert.equal(await index.claim(2999, 4000), undefined);
      assert.equal(await index.extendClaim(first, 3500), true);
      assert.equal(await index.claim(3400, 4000), undefined);
      assert.equal(await index.addChunks(first, 0, [one]), true);
      const second = await claimNext(index, 3500, 4500);
      assert.deepEqual([second.attempts, second.chunks, second.epoch > first.epoch], [2, 1, true]);
      assert.deepEqual(
        [
          await index.extendClaim(first, 9000),
          await index.addChunks(first, 1, [two]),
          await index.endClaim(first, { status: 'completed' }),
        ],
        [false, false, false],
      );
      assert.equal(await index.addChunks(second, 1, [two]), true);
      assert.deepEqual([...(await index.nearest(query([store]), vector(1, 0)))], [], 'not before it is completed');
      assert.deepEqual([...(await index.matching(query([store]), 'one'))], []);
      assert.equal(await index.endClaim(second, { status: 'completed' }), true);
      assert.equal(await index.endClaim(second, { status: 'completed' }), false);
      assert.deepEqual(foundTexts(await index.nearest(query([store]), vector(1, 0))), ['one', 'two']);
      assert.equal(await index.claim(99_000, 99_999), undefined);
    },
  },
  {
    name: '[X-14] lets a file be claimed again at the time of its retry',
    async run({ index }) {
      const store = makeStore();
      await fillStore(index, store, [makeFile(store)]);
      const claim = await claimNext(index, 2000, 3000);
      await index.endClaim(claim, { status: 'retry', at: 5000 });
      assert.equal(await index.extendClaim(claim, 9000), false);
      assert.equal(await index.claim(4999, 6000), undefined);
      assert.equal((await claimNext(index, 5000)).attempts, 2);
    },
  },
  {
    name: '[X-14] hands out files oldest first, and tenants in turn',
    async run({ index }) {
      const [much, little] = [makeStore(), makeStore()];
      const files = ['m1', 'm2', 'm3', 'm4'].map((id, at) => makeFile(much, { id, createdAt: 1000 + at }));
      await fillStore(index, much, files);
      await fillStore(index, little, [makeFile(little, { id: 'l1', createdAt: 1900 })]);
      const order = [];
      for (let count = 0; count < 5; count += 1) order.push((await claimNext(index)).file.id);
      assert.deepEqual(
        order.filter((id) => id !== 'l1'),
        ['m1', 'm2', 'm3', 'm4'],
      );
      assert.ok(order.indexOf('l1') < 2, `the other tenant waited: ${order}`);
    },
  },
  {
    name: '[X-14] passes over the tenants that have enough places',
    async run({ index }) {
      const [much, little] = [makeStore(), makeStore()];
      await fillStore(index, much, [makeFile(much, { id: 'm1' }), makeFile(much, { id: 'm2' })]);
      await fillStore(index, little, [makeFile(little, { id: 'l1', createdAt: 1900 })]);
      const first = await index.claim(2000, 3000, [much.scope]);
      assert.deepEqual([first?.file.id, await index.claim(2000, 3000, [much.scope])], ['l1', undefined]);
      assert.equal((await claimNext(index)).file.id, 'm1');
    },
  },
  {
    name: '[X-14] hands out no file twice to many concurrent claims',
    async run({ index }) {
      const store = makeStore();
      const files = Array.from({ length: 30 }, (_, at) => makeFile(store, { createdAt: at }));
      await fillStore(index, store, files);
      const claims = await Promise.all(Array.from({ length: 40 }, async () => index.claim(2000, 3000)));
      const ids = claims.flatMap((claim) => (claim ? [claim.file.id] : []));
      for (let more = await index.claim(2000, 3000); more; more = await index.claim(2000, 3000)) ids.push(more.file.id);
      assert.deepEqual([ids.length, new Set(ids).size], [30, 30]);
    },
  },
  {
    name: '[X-14] stores all chunks or none, and refuses embeddings of another length',
    async run({ index }) {
      const store = makeStore();
      const file = makeFile(store);
      await fillStore(index, store, [file]);
      const claim = await claimNext(index);
      await assertMismatch(() => index.addChunks(claim, 0, [one, { text: 'long', embedding: vector(1, 2, 3) }]));
      assert.deepEqual([...(await index.chunkTexts(file, 0, 9))], []);
      assert.equal(await index.addChunks(claim, 0, [one]), true);
      await assertMismatch(() => index.addChunks(claim, 1, [{ text: 'long', embedding: vector(1, 2, 3) }]));
      await index.endClaim(claim, { status: 'completed' });
      await assertMismatch(() => index.nearest(query([store]), vector(1, 2, 3)));
      await index.deleteFile(file);
      await index.addFiles(store, [file]);
      await indexNext(index, { long: vector(1, 2, 3) });
      assert.deepEqual(foundTexts(await index.nearest(query([store]), vector(1, 2, 3))), ['long']);
    },
  },
  {
    name: '[X-14] replaces chunks that are stored again at the same places',
    async run({ index }) {
      const store = makeStore();
      const file = makeFile(store);
      await fillStore(index, store, [file]);
      const claim = await claimNext(index);
      for (const from of [0, 0, 1]) await index.addChunks(claim, from, [from === 0 ? one : two]);
      await index.endClaim(claim, { status: 'completed' });
      assert.deepEqual([...(await index.chunkTexts(file, 0, 9))], ['one', 'two']);
      assert.deepEqual(foundTexts(await index.matching(query([store]), 'one')), ['one']);
      assert.equal((await index.getFile(file))?.bytes, 6 + 16);
    },
  },
  {
    name: '[X-14] removes the chunks from a place on, and all of a file that is cancelled, and counts their bytes no more',
    async run({ index }) {
      const store = makeStore();
      await index.putStore(store, 'create');
      const batch = { scope: store.scope, store: store.id, id: 'batch_1', createdAt: 1000 };
      const file = makeFile(store, { batch: batch.id });
      await index.addFiles(store, [file], batch);
      const claim = await claimNext(index);
      await index.addChunks(claim, 0, [one, two]);
      assert.equal(await index.addChunks(claim, 1, []), true);
      assert.deepEqual([...(await index.chunkTexts(file, 0, 9))], ['one']);
      assert.equal((await index.getFile(file))?.bytes, 3 + 8);
      await index.addChunks(claim, 0, []);
      assert.equal((await index.countFiles(store)).bytes, 0);
      // Embeddings of any length are welcome again.
      await index.addChunks(claim, 0, [{ text: 'long', embedding: vector(1, 2, 3) }]);
      await index.cancelBatch(batch);
      assert.deepEqual([...(await index.chunkTexts(file, 0, 9))], []);
      assert.deepEqual((({ cancelled, bytes }) => [cancelled, bytes])(await index.countFiles(store)), [1, 0]);
    },
  },
  {
    name: '[X-14] indexes a file again that is added again, and no older claim changes it',
    async run({ index }) {
      const { store, file } = await createSearchable(index, { old: vector(1, 0) });
      await index.addFiles(store, [file]);
      assert.deepEqual([...(await index.matching(query([store]), 'old'))], []);
      const lost = await claimNext(index);
      assert.equal(lost.chunks, 0);
      await index.addFiles(store, [{ ...file, createdAt: 1800, attributes: { again: true } }]);
      const now = await claimNext(index);
      assert.equal(await index.addChunks(lost, 0, [one]), false);
      assert.equal(await index.endClaim(lost, { status: 'completed' }), false);
      assert.equal(await index.addChunks(now, 0, [two]), true);
      await index.endClaim(now, { status: 'completed' });
      assert.deepEqual(foundTexts(await index.nearest(query([store]), vector(1, 1))), ['two']);
      assert.deepEqual((await index.getFile(file))?.attributes, { again: true });
      assert.equal((await index.countFiles(store)).completed, 1);
    },
  },
  {
    name: '[X-14] ends the claims of files that are deleted, cancelled, or whose vector store is deleted',
    async run({ index }) {
      const store = makeStore();
      await index.putStore(store, 'create');
      const key = { scope: store.scope, store: store.id, id: 'batch_1' };
      const files = ['a', 'b', 'c'].map((id, at) =>
        makeFile(store, { id, createdAt: at, batch: id === 'b' ? key.id : '' }),
      );
      await index.addFiles(store, files, { ...key, createdAt: 1000 });
      const [a, b, c] = [await claimNext(index), await claimNext(index), await claimNext(index)];
      await index.deleteFile(a.file);
      await index.cancelBatch(key);
      await index.deleteStore(store);
      for (const claim of [a, b, c]) {
        assert.equal(await index.extendClaim(claim, 9000), false);
        assert.equal(await index.addChunks(claim, 0, [one]), false);
        assert.equal(await index.endClaim(claim, { status: 'completed' }), false);
      }
      assert.equal(await index.claim(99_000, 99_999), undefined);
    },
  },
];
