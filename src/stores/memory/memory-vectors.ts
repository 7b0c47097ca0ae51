/** Keeps vector stores in the process's memory: for tests and demonstrations. */
import { checkOptions, isFunction, positiveInteger } from '../../ports/host/options-check.ts';
import { type ResponseKey, storeKey } from '../../ports/store.ts';
import { dimensionMismatch } from '../../ports/store-error.ts';
import type { Attributes } from '../../ports/vectors/attributes.ts';
import {
  type Chunk,
  type ChunkQuery,
  type FileCounts,
  type IndexingClaim,
  type IndexingEnd,
  isStoreExpired,
  MAX_BATCHES,
  type NewVectorFile,
  type StoredVectorStore,
  storeExpiry,
  type VectorBatch,
  type VectorFile,
  type VectorFileKey,
  type VectorFilesQuery,
  type VectorIndex,
  type VectorPageQuery,
} from '../../ports/vectors/vector-index.ts';
import { sortedPage } from '../vectors/vector-lists.ts';
import {
  matchingChunks,
  nearestChunks,
  storedDimensions,
  toChunkEntry,
  type VectorFileEntry,
  type VectorStoreEntry,
} from './vector-search.ts';

/** The limits of the index, over all tenants; `undefined` means the default. */
export interface MemoryVectorsOptions {
  /** The most vector stores. Default: 1,000. */
  readonly maxStores?: number | undefined;
  /** The most files in vector stores. Default: 20,000. */
  readonly maxFiles?: number | undefined;
  /** The most chunks. Default: 100,000. */
  readonly maxChunks?: number | undefined;
  /** The most bytes of chunks: their texts and embeddings. Default: 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const DEFAULTS = { maxStores: 1000, maxFiles: 20_000, maxChunks: 100_000, maxBytes: 256 * 1024 * 1024 };

/**
 * Keeps vector stores until the process ends; searches compare the query with every chunk. Writes over a limit are refused. Throws a
 * `TypeError` for a bad option.
 */
export function memoryVectors(options: MemoryVectorsOptions = {}): VectorIndex {
  checkOptions('memoryVectors', options, {
    maxStores: positiveInteger,
    maxFiles: positiveInteger,
    maxChunks: positiveInteger,
    maxBytes: positiveInteger,
    now: isFunction,
  });
  return new MemoryVectors(options);
}

class MemoryVectors implements VectorIndex {
  readonly name = 'memory';
  private readonly stores = new Map<string, VectorStoreEntry>();
  /** The files to index by tenant, oldest first; the tenant that was served last comes last. */
  private readonly waiting = new Map<string, Set<VectorFileEntry>>();
  private readonly limits: Readonly<typeof DEFAULTS>;
  private readonly now: () => number;
  private readonly used = { maxFiles: 0, maxChunks: 0, maxBytes: 0 };
  /** Counts over all files: a file that is added again must not get an epoch that it had before. */
  private claims = 0;
  /** No vector store with chunks expires before. */
  private nextExpiry = Number.POSITIVE_INFINITY;

  constructor({ now = Date.now, ...limits }: MemoryVectorsOptions) {
    this.limits = {
      maxStores: limits.maxStores ?? DEFAULTS.maxStores,
      maxFiles: limits.maxFiles ?? DEFAULTS.maxFiles,
      maxChunks: limits.maxChunks ?? DEFAULTS.maxChunks,
      maxBytes: limits.maxBytes ?? DEFAULTS.maxBytes,
    };
    this.now = now;
  }

  putStore(store: StoredVectorStore, mode: 'create' | 'replace'): boolean {
    this.sweep();
    const entry = this.find(store);
    if (mode === 'replace') {
      if (!entry || this.isExpired(entry)) return false;
      entry.store = { ...store, createdAt: entry.store.createdAt };
      this.noteExpiry(entry);
      return true;
    }
    if (entry) throw new Error('memoryVectors: the vector store exists already');
    if (this.stores.size >= this.limits.maxStores) throw limitReached('maxStores', this.limits.maxStores);
    const created: VectorStoreEntry = { store: { ...store }, files: new Map(), batches: new Map() };
    this.stores.set(storeKey(store), created);
    this.noteExpiry(created);
    return true;
  }

  getStore(key: ResponseKey) {
    const entry = this.find(key);
    return entry && { ...entry.store };
  }

  listStores(scope: string, query: VectorPageQuery) {
    return sortedPage(this.tenantStores(scope), query, (id) => this.find({ scope, id })?.store);
  }

  deleteStore(key: ResponseKey): boolean {
    const entry = this.find(key);
    for (const file of entry?.files.values() ?? []) this.forget(file);
    return this.stores.delete(storeKey(key));
  }

  countFiles(store: ResponseKey, batch?: string): FileCounts {
    const counts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };
    for (const { file } of this.find(store)?.files.values() ?? []) {
      if (batch !== undefined && file.batch !== batch) continue;
      counts[file.status] += 1;
      counts.bytes += file.bytes;
    }
    return counts;
  }

  countStores(scope: string): number {
    return this.tenantStores(scope).length;
  }

  addFiles(store: ResponseKey, files: readonly NewVectorFile[], batch?: VectorBatch): boolean {
    const entry = this.find(store);
    if (!entry || this.isExpired(entry)) return false;
    const added = new Set(files.map(({ id }) => id).filter((id) => !entry.files.has(id)));
    this.takeRoom({ maxFiles: added.size, maxChunks: 0, maxBytes: 0 });
    if (batch) entry.batches.set(batch.id, { ...batch });
    const [oldest = ''] = entry.batches.keys();
    if (entry.batches.size > MAX_BATCHES) entry.batches.delete(oldest);
    for (const file of files) {
      const old = entry.files.get(file.id);
      if (old) this.forget(old);
      // `forget` gives the old file's room back, and `takeRoom` has taken none for its replacement.
      if (old) this.used.maxFiles += 1;
      this.enqueue(entry, { file: { ...file, status: 'in_progress', bytes: 0 }, ...UNCLAIMED, chunks: [] });
    }
    return true;
  }

  getFile(key: VectorFileKey): VectorFile | undefined {
    const entry = this.findFile(key);
    return entry && { ...entry.file };
  }

  listFiles(store: ResponseKey, query: VectorFilesQuery) {
    const all = [...(this.find(store)?.files.values() ?? [])].map(({ file }) => file);
    const wanted = all
      .filter(({ status }) => query.status === undefined || status === query.status)
      .filter(({ batch }) => query.batch === undefined || batch === query.batch);
    return sortedPage(wanted, query, (id) => this.find(store)?.files.get(id)?.file);
  }

  setAttributes(key: VectorFileKey, attributes: Attributes): VectorFile | undefined {
    const entry = this.findFile(key);
    if (entry) entry.file = { ...entry.file, attributes: { ...attributes } };
    return entry?.file;
  }

  deleteFile(key: VectorFileKey): boolean {
    const entry = this.findFile(key);
    if (entry) this.forget(entry);
    return this.findStoreOfFile(key)?.files.delete(key.id) ?? false;
  }

  getBatch(key: VectorFileKey): VectorBatch | undefined {
    return this.findStoreOfFile(key)?.batches.get(key.id);
  }

  cancelBatch(key: VectorFileKey): void {
    for (const entry of this.findStoreOfFile(key)?.files.values() ?? []) {
      if (entry.file.batch !== key.id || entry.file.status !== 'in_progress') continue;
      this.removeChunks(entry);
    }
  }

  chunkTexts(key: VectorFileKey, from: number, limit: number): readonly string[] {
    const chunks = this.findFile(key)?.chunks ?? [];
    return chunks.slice(from, from + limit).map(({ text }) => text);
  }

  claim(now: number, until: number, except: readonly string[] = []): IndexingClaim | undefined {
    for (const [scope, files] of this.waiting) {
      if (except.includes(scope)) continue;
      for (const entry of files) {
        if (entry.claimableAt > now) continue;
        // The tenant's next turn comes after those of all others.
        this.waiting.delete(scope);
        this.waiting.set(scope, files);
        return this.startClaim(entry, until);
      }
    }
    return undefined;
  }

  extendClaim(claim: IndexingClaim, until: number): boolean {
    const entry = this.claimedFile(claim);
    if (entry) entry.claimableAt = until;
    return entry !== undefined;
  }

  addChunks(claim: IndexingClaim, from: number, chunks: readonly Chunk[]): boolean {
    this.sweep();
    const entry = this.claimedFile(claim);
    const store = this.findStoreOfFile(claim.file);
    if (!entry || !store) return false;
    const stored = storedDimensions(store) ?? chunks[0]?.embedding.length;
    for (const { embedding } of chunks) {
      if (stored !== undefined && embedding.length !== stored) throw dimensionMismatch(embedding.length, stored);
    }
    if (from > entry.chunks.length) throw new Error(`memoryVectors: chunks before the one at ${from} are missing`);
    const made = chunks.map(toChunkEntry);
    const bytes = made.reduce((sum, chunk) => sum + chunk.bytes, 0);
    this.takeRoom({ maxFiles: 0, maxChunks: made.length, maxBytes: bytes });
    const replaced = entry.chunks.splice(from, Number.POSITIVE_INFINITY, ...made);
    const freed = replaced.reduce((sum, chunk) => sum + chunk.bytes, 0);
    this.takeRoom({ maxFiles: 0, maxChunks: -replaced.length, maxBytes: -freed });
    entry.file = { ...entry.file, bytes: entry.file.bytes + bytes - freed };
    return true;
  }

  endClaim(claim: IndexingClaim, end: IndexingEnd): boolean {
    const entry = this.claimedFile(claim);
    if (!entry) return false;
    if (end.status === 'retry') Object.assign(entry, { claimableAt: end.at, epoch: 0 });
    else this.end(entry, end);
    return true;
  }

  nearest(query: ChunkQuery, embedding: Float32Array) {
    return nearestChunks(this.searchedStores(query), query, embedding);
  }

  matching(query: ChunkQuery, text: string) {
    return matchingChunks(this.searchedStores(query), query, text);
  }

  private find(key: ResponseKey): VectorStoreEntry | undefined {
    return this.stores.get(storeKey(key));
  }

  private findStoreOfFile({ scope, store }: VectorFileKey): VectorStoreEntry | undefined {
    return this.find({ scope, id: store });
  }

  private findFile(key: VectorFileKey): VectorFileEntry | undefined {
    return this.findStoreOfFile(key)?.files.get(key.id);
  }

  private tenantStores(scope: string): readonly StoredVectorStore[] {
    return [...this.stores.values()].map(({ store }) => store).filter((store) => store.scope === scope);
  }

  /** The vector stores that exist and have not expired. */
  private searchedStores({ scope, stores }: ChunkQuery): readonly VectorStoreEntry[] {
    return [...new Set(stores)].flatMap((id) => {
      const entry = this.find({ scope, id });
      return entry && !this.isExpired(entry) ? [entry] : [];
    });
  }

  private isExpired({ store }: VectorStoreEntry): boolean {
    return isStoreExpired(store, this.now());
  }

  private noteExpiry({ store }: VectorStoreEntry): void {
    this.nextExpiry = Math.min(this.nextExpiry, storeExpiry(store));
  }

  /** Empties the vector stores that have expired; looks at them only if one may have. */
  private sweep(): void {
    if (this.now() < this.nextExpiry) return;
    this.nextExpiry = Number.POSITIVE_INFINITY;
    for (const entry of this.stores.values()) {
      if (!this.isExpired(entry)) {
        this.noteExpiry(entry);
        continue;
      }
      entry.batches.clear();
      for (const file of entry.files.values()) this.removeChunks(file);
    }
  }

  /** Removes its chunks; indexing it is cancelled. */
  private removeChunks(entry: VectorFileEntry): void {
    this.takeRoom({ maxFiles: 0, maxChunks: -entry.chunks.length, maxBytes: -entry.file.bytes });
    entry.chunks.length = 0;
    entry.file = { ...entry.file, bytes: 0 };
    if (entry.file.status === 'in_progress') this.end(entry, { status: 'cancelled' });
  }

  private enqueue(store: VectorStoreEntry, entry: VectorFileEntry): void {
    store.files.set(entry.file.id, entry);
    const { scope } = entry.file;
    this.waiting.set(scope, (this.waiting.get(scope) ?? new Set()).add(entry));
  }

  private startClaim(entry: VectorFileEntry, until: number): IndexingClaim {
    this.claims += 1;
    Object.assign(entry, { epoch: this.claims, attempts: entry.attempts + 1, claimableAt: until });
    const { file, epoch, attempts, chunks } = entry;
    return { file: { ...file }, epoch, attempts, chunks: chunks.length };
  }

  /** The file of the claim, if it is still claimed by it. */
  private claimedFile({ file, epoch }: IndexingClaim): VectorFileEntry | undefined {
    const entry = this.findFile(file);
    return entry?.file.status === 'in_progress' && entry.epoch === epoch ? entry : undefined;
  }

  private end(
    entry: VectorFileEntry,
    end: Exclude<IndexingEnd, { readonly status: 'retry' }> | { status: 'cancelled' },
  ) {
    entry.file = { ...entry.file, ...end };
    this.stopWaiting(entry);
  }

  private stopWaiting(entry: VectorFileEntry): void {
    const { scope } = entry.file;
    const files = this.waiting.get(scope);
    files?.delete(entry);
    if (files?.size === 0) this.waiting.delete(scope);
  }

  private forget(entry: VectorFileEntry): void {
    this.takeRoom({ maxFiles: -1, maxChunks: -entry.chunks.length, maxBytes: -entry.file.bytes });
    this.stopWaiting(entry);
  }

  private takeRoom(more: Readonly<typeof this.used>): void {
    for (const name of ['maxFiles', 'maxChunks', 'maxBytes'] as const) {
      if (more[name] > 0 && this.used[name] + more[name] > this.limits[name])
        throw limitReached(name, this.limits[name]);
    }
    for (const name of ['maxFiles', 'maxChunks', 'maxBytes'] as const) this.used[name] += more[name];
  }
}

const UNCLAIMED = { epoch: 0, attempts: 0, claimableAt: 0 } as const;

function limitReached(name: string, limit: number): Error {
  return new Error(`memoryVectors: there is no room; ${name} is ${limit}`);
}
