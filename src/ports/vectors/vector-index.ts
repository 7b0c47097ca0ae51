/** The port that keeps vector stores: their files, the chunks of these with embeddings, and what is left to index. */
import type { MaybePromise, ResponseKey } from '../background/response-key.ts';
import type { AttributeFilter, Attributes } from './attributes.ts';

/** A vector store. Its counts are asked for apart. */
export interface StoredVectorStore extends ResponseKey {
  /** The client's name for it; empty if it has none. */
  readonly name: string;
  /** The client's own notes. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When it was last searched or changed: milliseconds since the epoch. */
  readonly lastActiveAt: number;
  /** It expires so many milliseconds after `lastActiveAt`; absent for one that does not. */
  readonly expiresAfterMs?: number | undefined;
}

/** The files of a vector store or of a batch, by status, and the bytes that their chunks take. */
export interface FileCounts {
  /** Those that wait or are being indexed. */
  readonly in_progress: number;
  /** Those that can be found. */
  readonly completed: number;
  /** Those that could not be indexed. */
  readonly failed: number;
  /** Those whose batch was cancelled in time. */
  readonly cancelled: number;
  /** The bytes of the chunks of all. */
  readonly bytes: number;
}

/** A file in a vector store: `id` is that of the file, `store` that of the vector store. */
export interface VectorFileKey extends ResponseKey {
  /** The id of the vector store. */
  readonly store: string;
}

/** How far the indexing of a file is. */
export type IndexingStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled';

/** How a text is cut. */
export interface Chunking {
  /** The most tokens of a chunk. */
  readonly maxTokens: number;
  /** The tokens that a chunk shares with the one before it; at most half of `maxTokens`. */
  readonly overlapTokens: number;
}

/** Why a file could not be indexed, in OpenAI's words. */
export interface IndexingError {
  /** The kind of fault. */
  readonly code: 'server_error' | 'unsupported_file' | 'invalid_file';
  /** Fit for clients. */
  readonly message: string;
}

/** A file in a vector store, as it is added. */
export interface NewVectorFile extends VectorFileKey {
  /** The batch that it came with. */
  readonly batch?: string | undefined;
  /** The name that it was uploaded with. */
  readonly filename: string;
  /** What the client notes of it. */
  readonly attributes: Attributes;
  /** How its text is cut. */
  readonly chunking: Chunking;
  /** Whether the client left the chunking to the server. */
  readonly autoChunking: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** A file in a vector store, as it is now. */
export interface VectorFile extends NewVectorFile {
  /** How far its indexing is. */
  readonly status: IndexingStatus;
  /** The bytes that its chunks take. */
  readonly bytes: number;
  /** Only where `status` is `failed`. */
  readonly error?: IndexingError | undefined;
}

/** A piece of a file's text; an index may keep U+FFFD in place of a NUL or a lone surrogate. */
export interface Chunk {
  /** The text itself. */
  readonly text: string;
  /** What the model made of the text. */
  readonly embedding: Float32Array;
}

/** The right to index one file, until it is over or another process takes it. */
export interface IndexingClaim {
  /** The file to index. */
  readonly file: VectorFile;
  /** Grows with each claim of this file, even if it was deleted and added again; with an older one, a method does nothing and returns false. */
  readonly epoch: number;
  /** How often the file was claimed since it was added, this time included; claims that ended in a retry count. */
  readonly attempts: number;
  /** The chunks that earlier claims have stored: indexing goes on after them. */
  readonly chunks: number;
}

/** How a claim ends. `retry` gives the file back for a claim at that time, in milliseconds since the epoch. */
export type IndexingEnd =
  | { readonly status: 'completed' }
  | {
      readonly status: 'failed';
      /** Why. */
      readonly error: IndexingError;
    }
  | {
      readonly status: 'retry';
      /** Milliseconds since the epoch. */
      readonly at: number;
    };

/** The limits of both kinds of search. Only chunks of completed files are found. */
export interface ChunkQuery {
  /** The tenant. */
  readonly scope: string;
  /** The vector stores; unknown and expired ones have no chunks. */
  readonly stores: readonly string[];
  /** Which files, by their attributes; all if absent. */
  readonly filter?: AttributeFilter | undefined;
  /** The maximum number of chunks. */
  readonly limit: number;
}

/** A chunk that was found. */
export interface FoundChunk {
  /** The id of the vector store. */
  readonly store: string;
  /** The id of the file. */
  readonly file: string;
  /** The file's name. */
  readonly filename: string;
  /** The file's attributes. */
  readonly attributes: Attributes;
  /** Its place in the file, from 0: the same chunk has the same file and place in every search. */
  readonly place: number;
  /** Its text. */
  readonly text: string;
  /** How near it is: cosine similarity, or the rank of a full-text search; greater is better, and comparable in one answer only. */
  readonly score: number;
}

/**
 * A page of a list. `after` and `before` are ids; `asc` begins with the oldest, and what is of the same time is ordered by id.
 * `before` alone asks for the page that ends right before it; `hasMore` is then whether others come before that page.
 */
export interface VectorPageQuery {
  /** The maximum number of entries. */
  readonly limit: number;
  /** By age. */
  readonly order: 'asc' | 'desc';
  /** The id that the page begins after. */
  readonly after?: string | undefined;
  /** The id that the page ends before. */
  readonly before?: string | undefined;
}

/** A page of files of a vector store. */
export interface VectorFilesQuery extends VectorPageQuery {
  /** Only files of this status. */
  readonly status?: IndexingStatus | undefined;
  /** Only files of the batch with this id. */
  readonly batch?: string | undefined;
}

/** One page in the order of the query. */
export interface VectorPage<Entry> {
  /** At most as many as the query's `limit`. */
  readonly entries: readonly Entry[];
  /** Whether others follow. */
  readonly hasMore: boolean;
  /** Whether nothing of the tenant has the id in `after` or `before`; `entries` is then empty. */
  readonly unknown?: true | undefined;
}

/** A batch of files that were added together. */
export interface VectorBatch extends VectorFileKey {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** How many of its files were in the vector store already, and are not indexed again. */
  readonly unchanged?: number | undefined;
  /** The ids of files that were waiting or being indexed already, as those of another request. */
  readonly shared?: readonly string[] | undefined;
}

/** The batches that an index keeps of one vector store, the newest. */
export const MAX_BATCHES = 1000;

/**
 * Keeps vector stores. A method that fails rejects. Objects of another tenant are missing for every method; a vector store
 * that has expired is there with its files, but has no chunks: later calls of `putStore` and `addChunks` for any vector store remove
 * them, some at a time, and cancel its files in progress. Several processes may share one index.
 */
export interface VectorIndex {
  /** A short name for messages, such as `sqlite`. */
  readonly name: string;

  /** Stores a new vector store, or replaces the name, notes, expiry and last activity of one. Returns false if there is none to replace, or if it has expired. */
  putStore(store: StoredVectorStore, mode: 'create' | 'replace'): MaybePromise<boolean>;
  /** Undefined if it is missing. */
  getStore(key: ResponseKey): MaybePromise<StoredVectorStore | undefined>;
  /** One page of the tenant's vector stores. */
  listStores(scope: string, query: VectorPageQuery): MaybePromise<VectorPage<StoredVectorStore>>;
  /** With all its files and chunks, which nothing finds from now on. Whether there was one; of several calls one returns true. */
  deleteStore(key: ResponseKey): MaybePromise<boolean>;
  /** The files of a vector store, or of one of its batches, by status. */
  countFiles(store: ResponseKey, batch?: string): MaybePromise<FileCounts>;
  /** How many vector stores the tenant has. */
  countStores(scope: string): MaybePromise<number>;

  /**
   * Adds files to be indexed, all or none; one that is there already is indexed anew, and its old chunks are found no more. A batch
   * is stored with its files, until the vector store expires or has `MAX_BATCHES` newer ones. False: there is no such vector store, or it
   * has expired.
   */
  addFiles(store: ResponseKey, files: readonly NewVectorFile[], batch?: VectorBatch): MaybePromise<boolean>;
  /** Undefined if it is missing. */
  getFile(key: VectorFileKey): MaybePromise<VectorFile | undefined>;
  /** One page of the files of a vector store; empty if that is missing. */
  listFiles(store: ResponseKey, query: VectorFilesQuery): MaybePromise<VectorPage<VectorFile>>;
  /** Returns the file with the new attributes, or undefined if it is missing. */
  setAttributes(key: VectorFileKey, attributes: Attributes): MaybePromise<VectorFile | undefined>;
  /** Removes the file and its chunks from the vector store. Whether there was one. */
  deleteFile(key: VectorFileKey): MaybePromise<boolean>;
  /** Undefined if it is missing. */
  getBatch(key: VectorFileKey): MaybePromise<VectorBatch | undefined>;
  /** Cancels the files of a batch that are in progress, and removes their chunks. */
  cancelBatch(key: VectorFileKey): MaybePromise<void>;
  /** The texts of a file's chunks in order, from a place on. */
  chunkTexts(key: VectorFileKey, from: number, limit: number): MaybePromise<readonly string[]>;

  /**
   * The next file to index, oldest first and fair between tenants, or undefined. Nobody else is given it before `until`; it is
   * given again after that unless it was ended, so that the work of a killed process goes on. Files of the tenants in
   * `except` are passed over: they have enough places already.
   */
  claim(now: number, until: number, except?: readonly string[]): MaybePromise<IndexingClaim | undefined>;
  /** Keeps the claim until then. False: it is lost, since the file was deleted, cancelled, added again, or taken over. */
  extendClaim(claim: IndexingClaim, until: number): MaybePromise<boolean>;
  /**
   * Stores the chunks that follow the first `from` ones, all or none, in place of those that were there. False: the claim is lost. Throws a `StoreError` (`dimension_mismatch`) if an embedding
   * is not as long as the others in the vector store.
   */
  addChunks(claim: IndexingClaim, from: number, chunks: readonly Chunk[]): MaybePromise<boolean>;
  /** Ends the claim. A file that is completed can be found from now on. False: the claim is lost. */
  endClaim(claim: IndexingClaim, end: IndexingEnd): MaybePromise<boolean>;

  /** The chunks nearest to the embedding by cosine similarity, best first. Throws a `StoreError` (`dimension_mismatch`) if its length is another. */
  nearest(query: ChunkQuery, embedding: Float32Array): MaybePromise<readonly FoundChunk[]>;
  /** The chunks that have words of the text, best first. Every text is allowed: nothing in it is an operator. */
  matching(query: ChunkQuery, text: string): MaybePromise<readonly FoundChunk[]>;

  /** Releases what the index holds. May be called twice. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** When the vector store expires, in milliseconds since the epoch: infinity for one that does not. */
export function storeExpiry({ lastActiveAt, expiresAfterMs = Number.POSITIVE_INFINITY }: StoredVectorStore): number {
  return lastActiveAt + expiresAfterMs;
}

/** Whether the vector store was idle for too long. */
export function isStoreExpired(store: StoredVectorStore, now: number): boolean {
  return storeExpiry(store) <= now;
}
