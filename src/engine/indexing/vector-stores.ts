/** The vector stores of a host: what is searched, and the work that makes files searchable. */
import type { ResponseKey } from '../../ports/background/response-key.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import { type OptionCheck, withMethods } from '../../ports/host/options-check.ts';
import {
  type FoundChunk,
  isStoreExpired,
  type StoredVectorStore,
  type VectorIndex,
} from '../../ports/vectors/vector-index.ts';
import { fromIndex } from './from-index.ts';
import { Indexer, type IndexerSettings } from './indexer.ts';
import { removeEverywhere } from './remove-gone.ts';
import { type Search, searchChunks } from './search.ts';

/** The vector stores of a host, as the API and the tool use them. */
export interface VectorStores {
  /** Where uploaded files are. */
  readonly files: FileStore;
  /** Where vector stores are. */
  readonly index: VectorIndex;
  /** The best chunks first; scores are from 0 to 1. Throws `ApiError`, or the signal's reason. */
  search(search: Search, signal: AbortSignal): Promise<readonly FoundChunk[]>;
  /** Starts indexing files that were added: so many, if it is known. */
  indexAdded(files?: number): void;
  /** Stops indexing files of the vector store that were deleted or cancelled, at once. */
  stopRemoved(store: string): Promise<void>;
  /** Removes an uploaded file from all vector stores of its tenant, once it is deleted. */
  forgetFile(key: ResponseKey): Promise<void>;
  /** Notes that the vector store is in use, which postpones its expiry. */
  touch(store: StoredVectorStore): Promise<void>;
  /** Claims no more files, and resolves when those being indexed have ended; on an engine these are given back, for another process. */
  drain(): Promise<void>;
  /** Stops indexing at once, and closes the index, the embedder and the reader of documents; the store of files stays open. May be called twice. */
  close(): Promise<void>;
}

/** Whether the value is what `createVectorStores` makes. */
export const isVectorStores: OptionCheck = (value) =>
  withMethods('search', 'forgetFile')(value) === true || 'made by createVectorStores()';

/** Activity is noted once in this time, in milliseconds: expiry is counted in days. */
const TOUCH_MS = 60_000;

/** Starts indexing the files that wait. */
export function openVectorStores(settings: IndexerSettings): VectorStores {
  const { files, index, embedder, documents } = settings;
  const indexer = new Indexer(settings);
  let closing: Promise<void> | undefined;
  return {
    files,
    index,
    search: (search, signal) => searchChunks(search, { index, files, embedder }, signal),
    indexAdded: (count) => indexer.wake(count),
    stopRemoved: (store) => indexer.recheck(store),
    async forgetFile(key) {
      for (const store of await removeEverywhere(key, index)) await indexer.recheck(store);
    },
    touch: (store) => touch(store, index),
    drain: () => indexer.drain(),
    close() {
      closing ??= (async () => {
        await indexer.close();
        for (const part of [embedder, documents, index]) await part.close?.();
      })();
      return closing;
    },
  };
}

async function touch(store: StoredVectorStore, index: VectorIndex): Promise<void> {
  const now = Date.now();
  if (now - store.lastActiveAt < TOUCH_MS || isStoreExpired(store, now)) return;
  // Read again: its name or its notes may have been changed since, such as during the search.
  const current = await findVectorStore(index, store);
  if (current) await fromIndex(() => index.putStore({ ...current, lastActiveAt: now }, 'replace'));
}

/** The vector store, if the tenant has it. Throws `store_error`. */
export function findVectorStore(index: VectorIndex, key: ResponseKey): Promise<StoredVectorStore | undefined> {
  return fromIndex(() => index.getStore(key));
}
