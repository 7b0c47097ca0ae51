/** The file store contract on uploads: a file is stored with all its bytes, or not at all. */
import assert from 'node:assert/strict';
import type { FileStore, FileUpload } from '../../ports/files/file-store.ts';
import { freshScope, plainValue } from '../stores/store-case.ts';
import {
  assertBytes,
  assertMissing,
  bytes,
  type FileCase,
  type FileSubject,
  freshId,
  listFileIds,
  makeUpload,
  pieces,
  putFile,
  readContent,
} from './file-case.ts';

/** Around the lengths of the pieces in which stores write. */
const LENGTHS = [0, 1, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 524_288, 1_000_003];
const NOTHING = { files: 0, bytes: 0 };

/** The cases about uploads. */
export const uploadCases: readonly FileCase[] = [
  {
    name: '[X-14] keeps every byte of a file, whatever its length',
    async run({ files }) {
      const scope = freshScope();
      for (const length of LENGTHS) {
        const content = bytes(length, length + 1);
        const file = await putFile(files, content, { scope });
        assert.equal(file.bytes, length);
        assertBytes(await readContent(files, file), content);
      }
    },
  },
  {
    name: '[X-14] describes a file as its upload did',
    async run({ files, clock }) {
      const expiresAt = clock.now() + 60_000;
      const upload = makeUpload([bytes(5)], { createdAt: 1234, expiresAt });
      const odd = { filename: '../ü\u0000"\n.pdf', purpose: 'user_data', contentType: 'text/csv', expiresAt };
      const expected = { scope: upload.scope, id: upload.id, createdAt: 1234, bytes: 5, ...odd };
      assert.deepEqual(plainValue(await files.put({ ...upload, details: () => odd })), expected);
      assert.deepEqual(plainValue(await files.get(upload)), expected);
    },
  },
  {
    name: '[X-14] requests the details once, after the last byte',
    async run({ files }) {
      const order: string[] = [];
      const upload = makeUpload(piecesThatNoteOrder(order));
      await files.put({
        ...upload,
        details() {
          order.push('details');
          return upload.details();
        },
      });
      assert.deepEqual(order, ['first', 'second', 'end', 'details']);
    },
  },
  {
    name: '[X-14] shows nothing of an upload before it is complete',
    async run({ files }) {
      const seen: unknown[] = [];
      const scope = freshScope();
      const id = freshId();
      const look = async () => {
        seen.push([
          plainValue(await files.get({ scope, id })),
          await listFileIds(files, scope),
          plainValue(await files.usage(scope)),
        ]);
        assert.equal(await files.delete({ scope, id }), false);
      };
      await files.put(makeUpload(piecesThatLook(look), { scope, id }));
      assert.deepEqual(seen, [
        [undefined, [], NOTHING],
        [undefined, [], NOTHING],
      ]);
      assert.deepEqual(await listFileIds(files, scope), [id]);
    },
  },
  {
    name: '[X-14] keeps its own copy of pieces that the caller uses again',
    async run({ files }) {
      const file = await files.put(makeUpload(piecesInOneBuffer()));
      assertBytes(await readContent(files, file), Buffer.from('aaaabbbb'));
    },
  },
  {
    name: '[X-14] leaves nothing of an upload that breaks off, and frees its room',
    run: (subject) => leavesNothing(subject, (upload, error) => ({ ...upload, content: piecesThatBreakOff(error) })),
  },
  {
    name: '[X-14] leaves nothing of an upload whose details are refused',
    run: (subject) =>
      leavesNothing(subject, (upload, error) => ({
        ...upload,
        details() {
          throw error;
        },
      })),
  },
  {
    name: '[X-14] frees the room of a deleted file',
    async run({ files, footprint }) {
      const before = await footprint?.();
      const file = await putFile(files, bytes(700_000));
      if (before !== undefined) assert.ok(Number(await footprint?.()) >= before + 700_000);
      assert.equal(await files.delete(file), true);
      assert.equal(await footprint?.(), before);
    },
  },
  {
    name: '[X-14] never lets a tenant have more files or bytes than the quota, however many uploads run at once',
    async run({ files }) {
      await neverExceeds(files, { files: 3, bytes: 1_000_000 }, { files: 3, bytes: 300 });
      await neverExceeds(files, { files: 100, bytes: 350 }, { files: 3, bytes: 300 });
    },
  },
  {
    name: '[X-14] fills a quota to its last byte, for each tenant on its own',
    async run({ files }) {
      const quota = { files: 1, bytes: 100 };
      for (const scope of [freshScope(), freshScope()]) {
        await putFile(files, bytes(100), { scope, quota });
        assert.deepEqual(plainValue(await files.usage(scope)), quota);
      }
      await assert.rejects(() => putFile(files, bytes(101), { quota }), {
        name: 'StoreError',
        code: 'file_quota_exceeded',
      });
    },
  },
];

async function leavesNothing(
  { files, footprint }: FileSubject,
  flaw: (upload: FileUpload, error: Error) => FileUpload,
): Promise<void> {
  const error = new Error('The client has left.');
  const before = await footprint?.();
  const upload = makeUpload(pieces(bytes(600_000)));
  await assert.rejects(
    async () => files.put(flaw(upload, error)),
    (thrown) => thrown === error,
  );
  await assertMissing(files, upload);
  assert.deepEqual(plainValue(await files.usage(upload.scope)), NOTHING);
  assert.equal(await footprint?.(), before);
  const { scope, id } = upload;
  assertBytes(await readContent(files, await putFile(files, bytes(9), { scope, id })), bytes(9));
}

async function neverExceeds(
  files: FileStore,
  quota: FileUpload['quota'],
  expected: FileUpload['quota'],
): Promise<void> {
  const scope = freshScope();
  const uploads = Array.from({ length: 12 }, () => putFile(files, bytes(100), { scope, quota }));
  const results = await Promise.allSettled(uploads);
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
  assert.deepEqual(refused, Array(9).fill('file_quota_exceeded'));
  assert.deepEqual(plainValue(await files.usage(scope)), expected);
}

async function* piecesThatNoteOrder(order: string[]): AsyncIterable<Uint8Array> {
  order.push('first');
  yield bytes(3);
  order.push('second');
  yield bytes(3);
  order.push('end');
}

async function* piecesThatLook(look: () => Promise<void>): AsyncIterable<Uint8Array> {
  yield bytes(300_000);
  await look();
  yield bytes(300_000);
  await look();
}

async function* piecesInOneBuffer(): AsyncIterable<Uint8Array> {
  const piece = Buffer.from('aaaa');
  yield piece;
  piece.fill('b');
  yield piece;
  piece.fill('c');
}

async function* piecesThatBreakOff(error: Error): AsyncIterable<Uint8Array> {
  yield* pieces(bytes(600_000));
  throw error;
}
