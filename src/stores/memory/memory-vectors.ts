/** Keeps vector stores in the process's memory: for tests and demonstrations. */
import { checkOptions, isFunction, positiveInteger } from '../../ports/host/options-check.ts';
import type { ResponseKey } from '../../ports/store.ts';
import type { Attributes } from '../../ports/vectors/attributes.ts';
import {
  type Chunk,
  type ChunkQuery,
  DimensionMismatch,
  expiryOf,
  type FileCounts,
  type IndexingClaim,
  type IndexingEnd,
  isStoreExpired,
  MAX_BATCHES,
  type NewVectorFile,
  type StoredVectorStore,
  type VectorBatch,
  type VectorFile,
  type VectorFileKey,
  type VectorFilesQuery,
  type VectorIndex,
  type VectorPageQuery,
} from '../../ports/vectors/vector-index.ts';
import { pageOf } from '../shared/vector-page.ts';
import { dimensionsOf, type KeptStore, type KeptVectorFile, keptChunk, matchingOf, nearestOf } from './kept-vectors.ts';

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
  private readonly stores = new Map<string, KeptStore>();
  /** The files to index by tenant, oldest first; the tenant that was served last comes last. */
  private readonly waiting = new Map<string, Set<KeptVectorFile>>();
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
    const kept = this.find(store);
    if (mode === 'replace') {
      if (!kept || this.isOver(kept)) return false;
      kept.store = { ...store, createdAt: kept.store.createdAt };
      this.watch(kept);
      return true;
    }
    if (kept) throw new Error('memoryVectors: the vector store exists already');
    if (this.stores.size >= this.limits.maxStores) throw noRoom('maxStores', this.limits.maxStores);
    const made: KeptStore = { store: { ...store }, files: new Map(), batches: new Map() };
    this.stores.set(nameOf(store), made);
    this.watch(made);
    return true;
  }

  getStore(key: ResponseKey) {
    const kept = this.find(key);
    return kept && { ...kept.store };
  }

  listStores(scope: string, query: VectorPageQuery) {
    return pageOf(this.storesOf(scope), query, (id) => this.find({ scope, id })?.store);
  }

  deleteStore(key: ResponseKey): boolean {
    const kept = this.find(key);
    for (const file of kept?.files.values() ?? []) this.forget(file);
    return this.stores.delete(nameOf(key));
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
    return this.storesOf(scope).length;
  }

  addFiles(store: ResponseKey, files: readonly NewVectorFile[], batch?: VectorBatch): boolean {
    const kept = this.find(store);
    if (!kept || this.isOver(kept)) return false;
    const added = new Set(files.map(({ id }) => id).filter((id) => !kept.files.has(id)));
    this.takeRoom({ maxFiles: added.size, maxChunks: 0, maxBytes: 0 });
    if (batch) kept.batches.set(batch.id, { ...batch });
    const [oldest = ''] = kept.batches.keys();
    if (kept.batches.size > MAX_BATCHES) kept.batches.delete(oldest);
    for (const file of files) {
      const old = kept.files.get(file.id);
      if (old) this.forget(old);
      // `forget` gives the old file's room back, and `takeRoom` has taken none for its replacement.
      if (old) this.used.maxFiles += 1;
      this.wait(kept, { file: { ...file, status: 'in_progress', bytes: 0 }, ...UNCLAIMED, chunks: [] });
    }
    return true;
  }

  getFile(key: VectorFileKey): VectorFile | undefined {
    const kept = this.fileOf(key);
    return kept && { ...kept.file };
  }

  listFiles(store: ResponseKey, query: VectorFilesQuery) {
    const all = [...(this.find(store)?.files.values() ?? [])].map(({ file }) => file);
    const wanted = all
      .filter(({ status }) => query.status === undefined || status === query.status)
      .filter(({ batch }) => query.batch === undefined || batch === query.batch);
    return pageOf(wanted, query, (id) => this.find(store)?.files.get(id)?.file);
  }

  setAttributes(key: VectorFileKey, attributes: Attributes): VectorFile | undefined {
    const kept = this.fileOf(key);
    if (kept) kept.file = { ...kept.file, attributes: { ...attributes } };
    return kept?.file;
  }

  deleteFile(key: VectorFileKey): boolean {
    const kept = this.fileOf(key);
    if (kept) this.forget(kept);
    return this.storeOf(key)?.files.delete(key.id) ?? false;
  }

  getBatch(key: VectorFileKey): VectorBatch | undefined {
    return this.storeOf(key)?.batches.get(key.id);
  }

  cancelBatch(key: VectorFileKey): void {
    for (const kept of this.storeOf(key)?.files.values() ?? []) {
      if (kept.file.batch !== key.id || kept.file.status !== 'in_progress') continue;
      this.empty(kept);
    }
  }

  chunkTexts(key: VectorFileKey, from: number, limit: number): readonly string[] {
    const chunks = this.fileOf(key)?.chunks ?? [];
    return chunks.slice(from, from + limit).map(({ text }) => text);
  }

  claim(now: number, until: number, except: readonly string[] = []): IndexingClaim | undefined {
    for (const [scope, files] of this.waiting) {
      if (except.includes(scope)) continue;
      for (const kept of files) {
        if (kept.claimableAt > now) continue;
        // The tenant's next turn comes after those of all others.
        this.waiting.delete(scope);
        this.waiting.set(scope, files);
        return this.claimOf(kept, until);
      }
    }
    return undefined;
  }

  extendClaim(claim: IndexingClaim, until: number): boolean {
    const kept = this.claimed(claim);
    if (kept) kept.claimableAt = until;
    return kept !== undefined;
  }

  addChunks(claim: IndexingClaim, from: number, chunks: readonly Chunk[]): boolean {
    this.sweep();
    const kept = this.claimed(claim);
    const store = this.storeOf(claim.file);
    if (!kept || !store) return false;
    const stored = dimensionsOf(store) ?? chunks[0]?.embedding.length;
    for (const { embedding } of chunks) {
      if (stored !== undefined && embedding.length !== stored) throw new DimensionMismatch(embedding.length, stored);
    }
    if (from > kept.chunks.length) throw new Error(`memoryVectors: chunks before the one at ${from} are missing`);
    const made = chunks.map(keptChunk);
    const bytes = made.reduce((sum, chunk) => sum + chunk.bytes, 0);
    this.takeRoom({ maxFiles: 0, maxChunks: made.length, maxBytes: bytes });
    const replaced = kept.chunks.splice(from, Number.POSITIVE_INFINITY, ...made);
    const freed = replaced.reduce((sum, chunk) => sum + chunk.bytes, 0);
    this.takeRoom({ maxFiles: 0, maxChunks: -replaced.length, maxBytes: -freed });
    kept.file = { ...kept.file, bytes: kept.file.bytes + bytes - freed };
    return true;
  }

  endClaim(claim: IndexingClaim, end: IndexingEnd): boolean {
    const kept = this.claimed(claim);
    if (!kept) return false;
    if (end.status === 'retry') Object.assign(kept, { claimableAt: end.at, epoch: 0 });
    else this.end(kept, end);
    return true;
  }

  nearest(query: ChunkQuery, embedding: Float32Array) {
    return nearestOf(this.searched(query), query, embedding);
  }

  matching(query: ChunkQuery, text: string) {
    return matchingOf(this.searched(query), query, text);
  }

  private find(key: ResponseKey): KeptStore | undefined {
    return this.stores.get(nameOf(key));
  }

  private storeOf({ scope, store }: VectorFileKey): KeptStore | undefined {
    return this.find({ scope, id: store });
  }

  private fileOf(key: VectorFileKey): KeptVectorFile | undefined {
    return this.storeOf(key)?.files.get(key.id);
  }

  private storesOf(scope: string): readonly StoredVectorStore[] {
    return [...this.stores.values()].map(({ store }) => store).filter((store) => store.scope === scope);
  }

  /** The vector stores that exist and have not expired. */
  private searched({ scope, stores }: ChunkQuery): readonly KeptStore[] {
    return [...new Set(stores)].flatMap((id) => {
      const kept = this.find({ scope, id });
      return kept && !this.isOver(kept) ? [kept] : [];
    });
  }

  private isOver({ store }: KeptStore): boolean {
    return isStoreExpired(store, this.now());
  }

  private watch({ store }: KeptStore): void {
    this.nextExpiry = Math.min(this.nextExpiry, expiryOf(store));
  }

  /** Empties the vector stores that have expired; looks at them only if one may have. */
  private sweep(): void {
    if (this.now() < this.nextExpiry) return;
    this.nextExpiry = Number.POSITIVE_INFINITY;
    for (const kept of this.stores.values()) {
      if (!this.isOver(kept)) {
        this.watch(kept);
        continue;
      }
      kept.batches.clear();
      for (const file of kept.files.values()) this.empty(file);
    }
  }

  /** Removes its chunks; indexing it is cancelled. */
  private empty(kept: KeptVectorFile): void {
    this.takeRoom({ maxFiles: 0, maxChunks: -kept.chunks.length, maxBytes: -kept.file.bytes });
    kept.chunks.length = 0;
    kept.file = { ...kept.file, bytes: 0 };
    if (kept.file.status === 'in_progress') this.end(kept, { status: 'cancelled' });
  }

  private wait(store: KeptStore, kept: KeptVectorFile): void {
    store.files.set(kept.file.id, kept);
    const { scope } = kept.file;
    this.waiting.set(scope, (this.waiting.get(scope) ?? new Set()).add(kept));
  }

  private claimOf(kept: KeptVectorFile, until: number): IndexingClaim {
    this.claims += 1;
    Object.assign(kept, { epoch: this.claims, attempts: kept.attempts + 1, claimableAt: until });
    const { file, epoch, attempts, chunks } = kept;
    return { file: { ...file }, epoch, attempts, chunks: chunks.length };
  }

  /** The file of the claim, if it is still claimed by it. */
  private claimed({ file, epoch }: IndexingClaim): KeptVectorFile | undefined {
    const kept = this.fileOf(file);
    return kept?.file.status === 'in_progress' && kept.epoch === epoch ? kept : undefined;
  }

  private end(kept: KeptVectorFile, end: Exclude<IndexingEnd, { readonly status: 'retry' }> | { status: 'cancelled' }) {
    kept.file = { ...kept.file, ...end };
    this.stopWaiting(kept);
  }

  private stopWaiting(kept: KeptVectorFile): void {
    const { scope } = kept.file;
    const files = this.waiting.get(scope);
    files?.delete(kept);
    if (files?.size === 0) this.waiting.delete(scope);
  }

  private forget(kept: KeptVectorFile): void {
    this.takeRoom({ maxFiles: -1, maxChunks: -kept.chunks.length, maxBytes: -kept.file.bytes });
    this.stopWaiting(kept);
  }

  private takeRoom(more: Readonly<typeof this.used>): void {
    for (const name of ['maxFiles', 'maxChunks', 'maxBytes'] as const) {
      if (more[name] > 0 && this.used[name] + more[name] > this.limits[name]) throw noRoom(name, this.limits[name]);
    }
    for (const name of ['maxFiles', 'maxChunks', 'maxBytes'] as const) this.used[name] += more[name];
  }
}

const UNCLAIMED = { epoch: 0, attempts: 0, claimableAt: 0 } as const;

function noRoom(name: string, limit: number): Error {
  return new Error(`memoryVectors: there is no room; ${name} is ${limit}`);
}

/** JSON, so that different pairs of scope and id never give the same name. */
function nameOf({ scope, id }: ResponseKey): string {
  return JSON.stringify([scope, id]);
}
