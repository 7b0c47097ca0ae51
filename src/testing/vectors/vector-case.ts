/** The parts of the vector index contract's cases, and the helpers that they share. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { AttributeFilter, Attributes } from '../../ports/vectors/attributes.ts';
import type {
  FoundChunk,
  IndexingClaim,
  NewVectorFile,
  StoredVectorStore,
  VectorIndex,
} from '../../ports/vectors/vector-index.ts';
import type { StoreContractClock } from '../stores/store-case.ts';

/** The subject of a case. */
interface VectorSubject {
  readonly index: VectorIndex;
  readonly clock: StoreContractClock;
}

/** One case of the contract. */
export interface VectorCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  run(subject: VectorSubject): Promise<void>;
}

/** A vector store of a tenant that no other case uses. */
export function makeStore(fields: Partial<StoredVectorStore> = {}): StoredVectorStore {
  const id = `vs_${randomUUID()}`;
  return {
    scope: randomUUID(),
    id,
    name: 'Notes',
    metadata: { a: 'b' },
    createdAt: 1000,
    lastActiveAt: 1000,
    ...fields,
  };
}

/** A file to add to it. */
export function makeFile({ scope, id: store }: StoredVectorStore, fields: Partial<NewVectorFile> = {}): NewVectorFile {
  const chunking = { maxTokens: 800, overlapTokens: 400 };
  const id = `file-${randomUUID()}`;
  return {
    ...{ scope, store, id, filename: 'a.txt', attributes: {}, chunking, autoChunking: true, createdAt: 1000 },
    ...fields,
  };
}

/** An embedding of these numbers. */
export function vector(...numbers: readonly number[]): Float32Array {
  return Float32Array.from(numbers);
}

/** Adds the vector store and files that are to be indexed. */
export async function fillStore(index: VectorIndex, store: StoredVectorStore, files: readonly NewVectorFile[]) {
  assert.equal(await index.putStore(store, 'create'), true);
  assert.equal(await index.addFiles(store, files), true);
}

/** The next claim; fails if there is none. */
export async function claimNext(index: VectorIndex, now = 2000, until = now + 1000): Promise<IndexingClaim> {
  const claim = await index.claim(now, until);
  assert.ok(claim, 'there is nothing to claim');
  return claim;
}

/** Texts with embeddings, for chunks. */
type Texts = Readonly<Record<string, Float32Array>>;

/** Indexes the next file with these chunks. */
export async function indexNext(index: VectorIndex, texts: Texts): Promise<IndexingClaim> {
  const claim = await claimNext(index);
  const chunks = Object.entries(texts).map(([text, embedding]) => ({ text, embedding }));
  assert.equal(await index.addChunks(claim, 0, chunks), true);
  assert.equal(await index.endClaim(claim, { status: 'completed' }), true);
  return claim;
}

/** A vector store with one completed file of these chunks. */
export async function createSearchable(index: VectorIndex, texts: Texts, fields: Partial<StoredVectorStore> = {}) {
  const store = makeStore(fields);
  const file = makeFile(store);
  await fillStore(index, store, [file]);
  await indexNext(index, texts);
  return { store, file };
}

/** A query over the vector stores, all of one tenant. */
export function query(stores: readonly StoredVectorStore[], filter?: AttributeFilter, limit = 10) {
  return { scope: stores[0]?.scope ?? '', stores: stores.map(({ id }) => id), filter, limit };
}

/** The texts that were found. */
export function foundTexts(found: readonly FoundChunk[]): readonly string[] {
  return Array.from(found, ({ text }) => text);
}

/** Adds a completed file for each of the attributes; the result returns the names of those that match a filter. */
export async function createFilterer(index: VectorIndex, attributes: Readonly<Record<string, Attributes>>) {
  const store = makeStore();
  const files = Object.entries(attributes).map(([filename, own]) => makeFile(store, { filename, attributes: own }));
  await fillStore(index, store, files);
  for (const _ of files) await indexNext(index, { 'same words': vector(1, 0) });
  return async (filter: AttributeFilter) => {
    const byMeaning = await index.nearest(query([store], filter, 50), vector(1, 1));
    const byWords = await index.matching(query([store], filter, 50), 'words');
    const [one, other] = [byMeaning, byWords].map((found) => Array.from(found, ({ filename }) => filename).sort());
    assert.deepEqual(one, other, 'both searches find the same files');
    return one?.join(' ');
  };
}

/** Asserts that the work fails because of a length of embeddings. */
export async function assertMismatch(work: () => unknown): Promise<void> {
  await assert.rejects(async () => await work(), { name: 'StoreError', code: 'dimension_mismatch' });
}
