/** The file store contract on reading, listing, deleting and expiry. */
import assert from 'node:assert/strict';
import { freshScope, plainValue } from '../stores/store-case.ts';
import {
  assertBytes,
  assertMissing,
  bytes,
  type FileCase,
  freshId,
  listFileIds,
  putFile,
  readContent,
  readToEnd,
} from './file-case.ts';

const LENGTH = 600_000;
/** Within a piece, over the borders of pieces, at both ends, and empty. */
const RANGES = [
  [0, 1],
  [5, 17],
  [262_143, 262_145],
  [65_530, 262_150],
  [LENGTH - 1, LENGTH],
  [1, LENGTH],
  [0, LENGTH],
  [7, 7],
] as const;

/** The cases about reading. */
export const readingCases: readonly FileCase[] = [
  {
    name: '[X-14] reads any range of a file',
    async run({ files }) {
      const content = bytes(LENGTH);
      const file = await putFile(files, content);
      for (const [start, end] of RANGES)
        assertBytes(await readContent(files, file, { start, end }), content.subarray(start, end));
    },
  },
  {
    name: '[X-14] reads one file for several readers at once',
    async run({ files }) {
      const content = bytes(LENGTH);
      const file = await putFile(files, content);
      const read = await Promise.all(Array.from({ length: 5 }, () => readContent(files, file)));
      for (const each of read) assertBytes(each, content);
    },
  },
  {
    name: '[X-14] lets a reader stop in the middle',
    async run({ files }) {
      const file = await putFile(files, bytes(LENGTH));
      for await (const piece of (await files.read(file)) ?? []) {
        assert.ok(piece.byteLength > 0);
        break;
      }
      assert.equal(await files.delete(file), true);
    },
  },
  {
    name: '[X-14] reads a file that is deleted meanwhile to its end, or fails',
    async run({ files }) {
      const content = bytes(LENGTH);
      const file = await putFile(files, content);
      const reading = (await files.read(file))?.[Symbol.asyncIterator]();
      const first = await reading?.next();
      await files.delete(file);
      await putFile(files, bytes(LENGTH, 2), { scope: file.scope, id: file.id });
      const rest = await readToEnd({ [Symbol.asyncIterator]: () => reading as AsyncIterator<Uint8Array> }).catch(
        () => {},
      );
      if (rest) assertBytes(Buffer.concat([first?.value ?? bytes(0), rest]), content);
    },
  },
  {
    name: '[X-14] deletes a file once, however many try at the same time',
    async run({ files }) {
      const file = await putFile(files, bytes(10));
      const deleted = await Promise.all(Array.from({ length: 5 }, async () => files.delete(file)));
      assert.deepEqual(
        deleted.toSorted((one, other) => Number(one) - Number(other)),
        [false, false, false, false, true],
      );
      await assertMissing(files, file);
      assert.deepEqual(plainValue(await files.usage(file.scope)), { files: 0, bytes: 0 });
    },
  },
  {
    name: '[X-14] lists files by creation time, in pages',
    async run({ files }) {
      const scope = freshScope();
      const times = [3000, 1000, 2000, 5000, 4000];
      for (const createdAt of times) await putFile(files, bytes(1), { scope, createdAt, id: `file-${createdAt}` });
      const up = ['file-1000', 'file-2000', 'file-3000', 'file-4000', 'file-5000'];
      assert.deepEqual(await listFileIds(files, scope), up);
      assert.deepEqual(await listFileIds(files, scope, { order: 'desc' }), up.toReversed());
      const page = await files.list(scope, { limit: 2, order: 'asc', after: 'file-2000' });
      assert.deepEqual([Array.from(page.files, ({ id }) => id), page.hasMore], [up.slice(2, 4), true]);
      const last = await files.list(scope, { limit: 2, order: 'desc', after: 'file-3000' });
      assert.deepEqual([Array.from(last.files, ({ id }) => id), last.hasMore], [['file-2000', 'file-1000'], false]);
    },
  },
  {
    name: '[X-14] lists files with the same creation time in a fixed order, each once',
    async run({ files }) {
      const scope = freshScope();
      const ids = ['file-a', 'file-b', 'file-c', 'file-d'];
      for (const id of ids.toReversed()) await putFile(files, bytes(1), { scope, id });
      const first = await listFileIds(files, scope, { limit: 2 });
      assert.deepEqual([...first, ...(await listFileIds(files, scope, { after: first[1] ?? '' }))], ids);
    },
  },
  {
    name: '[X-14] lists files of one purpose',
    async run({ files }) {
      const scope = freshScope();
      for (const [id, purpose] of Object.entries({ a: 'batch', b: 'vision', c: 'batch', d: 'vision' }))
        await putFile(files, bytes(1), { scope, id, purpose });
      assert.deepEqual(await listFileIds(files, scope, { purpose: 'vision' }), ['b', 'd']);
      const page = await files.list(scope, { limit: 1, order: 'asc', purpose: 'batch', after: 'b' });
      assert.deepEqual([Array.from(page.files, ({ id }) => id), page.hasMore], [['c'], false]);
    },
  },
  {
    name: '[X-14] reports a page after an unknown file as missing',
    async run({ files }) {
      const [mine, yours] = [await putFile(files, bytes(1)), await putFile(files, bytes(1))];
      for (const after of [yours.id, freshId(), ''])
        assert.deepEqual(plainValue(await files.list(mine.scope, { limit: 9, order: 'asc', after })), {
          files: [],
          hasMore: false,
          unknown: true,
        });
    },
  },
  {
    name: '[X-14] neither finds nor counts a file that has expired',
    async run({ files, clock, footprint }) {
      const scope = freshScope();
      const before = await footprint?.();
      const expiresAt = clock.now() + 60_000;
      const file = await putFile(files, bytes(100_000), { scope, expiresAt });
      await clock.advance(50_000);
      assert.deepEqual(await listFileIds(files, scope), [file.id]);
      await clock.advance(11_000);
      await assertMissing(files, file);
      assert.deepEqual(plainValue(await files.usage(scope)), { files: 0, bytes: 0 });
      await clock.advance(24 * 60 * 60 * 1000);
      const next = await putFile(files, bytes(10), { scope, quota: { files: 1, bytes: 10 } });
      await files.delete(next);
      assert.equal(await footprint?.(), before);
    },
  },
];
