/** The parts of the file store contract's cases, and the helpers that they share. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ByteRange, FileStore, FileUpload, StoredFile } from '../../ports/files/file-store.ts';
import type { MaybePromise, ResponseKey } from '../../ports/store.ts';
import { freshScope, type StoreContractClock } from '../stores/store-case.ts';

/** The subject of a case. */
export interface FileSubject {
  readonly files: FileStore;
  readonly clock: StoreContractClock;
  /** Undefined if the store cannot know. */
  readonly footprint: (() => MaybePromise<number>) | undefined;
}

/** One case of the contract. */
export interface FileCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  run(subject: FileSubject): Promise<void>;
}

/** An id as this package generates it. */
export function freshId(): string {
  return `file-${randomUUID().replaceAll('-', '')}`;
}

/** The fields in which uploads may differ. */
interface UploadFields extends Partial<Pick<FileUpload, 'scope' | 'id' | 'createdAt' | 'quota'>> {
  readonly purpose?: string;
  readonly expiresAt?: number;
}

/** An upload of these pieces. */
export function makeUpload(content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, fields: UploadFields = {}) {
  const { scope = freshScope(), id = freshId(), createdAt = 1000, quota, purpose = 'user_data', expiresAt } = fields;
  const details = () => ({ filename: `${id}.txt`, purpose, ...(expiresAt === undefined ? {} : { expiresAt }) });
  async function* inOrder(): AsyncIterable<Uint8Array> {
    yield* content;
  }

  return { scope, id, createdAt, content: inOrder(), details, quota } satisfies FileUpload;
}

/** Bytes that differ from place to place, so that a mistaken offset is noticed. */
export function bytes(length: number, seed = 1): Uint8Array {
  const made = new Uint8Array(length);
  let state = seed;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    made[index] = state >>> 16;
  }
  return made;
}

/** The bytes in pieces of uneven lengths. */
export function* pieces(whole: Uint8Array): Iterable<Uint8Array> {
  for (let at = 0, length = 1; at < whole.byteLength; at += length, length = (length * 7 + 3) % 70_001) {
    yield whole.slice(at, at + length);
  }
}

/** Stores this content and returns its description. */
export async function putFile(files: FileStore, content: Uint8Array, fields: UploadFields = {}): Promise<StoredFile> {
  return files.put(makeUpload(pieces(content), fields));
}

/** The content that the store returns; undefined if it has no such file. */
export async function readContent(files: FileStore, key: ResponseKey, range?: ByteRange): Promise<Buffer | undefined> {
  const found = await files.read(key, range);
  return found && readToEnd(found);
}

/** The whole content in one buffer. */
export async function readToEnd(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const piece of content) read.push(Uint8Array.from(piece));
  return Buffer.concat(read);
}

/** Asserts that these are the same bytes, without printing them. */
export function assertBytes(actual: Uint8Array | undefined, expected: Uint8Array): void {
  assert.equal(actual?.byteLength, expected.byteLength);
  assert.equal(Buffer.compare(actual as Uint8Array, expected), 0, 'the bytes differ');
}

/** Asserts that no method finds the file. */
export async function assertMissing(files: FileStore, key: ResponseKey): Promise<void> {
  assert.equal(await files.get(key), undefined);
  assert.equal(await files.read(key), undefined);
  assert.equal(await files.delete(key), false);
  assert.deepEqual(await listFileIds(files, key.scope, { after: key.id }), []);
}

/** The ids of the tenant's files, oldest first. */
export async function listFileIds(
  files: FileStore,
  scope: string,
  query: Partial<Parameters<FileStore['list']>[1]> = {},
): Promise<readonly string[]> {
  const page = await files.list(scope, { limit: 100, order: 'asc', ...query });
  return Array.from(page.files, ({ id }) => id);
}
