/** Keeps vector stores in an SQLite database with sqlite-vec and FTS5, for any number of processes of one machine. */
import { setImmediate as breathe } from 'node:timers/promises';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { requirePeer } from '../../ports/host/peer.ts';
import type { ResponseKey } from '../../ports/store.ts';
import type { Attributes } from '../../ports/vectors/attributes.ts';
import {
  type Chunk,
  type ChunkQuery,
  type FileCounts,
  type FoundChunk,
  type IndexingClaim,
  type IndexingEnd,
  isStoreExpired,
  type NewVectorFile,
  type StoredVectorStore,
  type VectorBatch,
  type VectorFileKey,
  type VectorFilesQuery,
  type VectorIndex,
  type VectorPageQuery,
} from '../../ports/vectors/vector-index.ts';
import { checkDimensions } from '../vectors/vector-lists.ts';
import { inTransaction, isSqliteDatabase, readRows, type SqliteDatabase, setUpSqlite } from './database.ts';
import { type NearChunk, type SearchedFile, VectorChunks } from './vector-chunks.ts';
import { type FoundStore, VectorRows } from './vector-rows.ts';

/** The database; `undefined` means the default. */
export interface SqliteVectorsOptions {
  /**
   * An open connection of node:sqlite (opened with `allowExtension: true`), better-sqlite3 or libsql; it may be that of
   * `sqliteStore`. The host closes it.
   */
  readonly database: SqliteDatabase;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The most bytes of embeddings that are compared before other requests run; they take some milliseconds. */
const BYTES_AT_ONCE = 6 * 1024 * 1024;

/** How often some chunks of expired vector stores are removed after a write. */
const EXPIRED_STEPS = 16;

/**
 * Compares the query with every embedding of the searched vector stores, in slices between which other requests run, so results are
 * exact. Needs the package `sqlite-vec`. Throws a `TypeError` for a bad option.
 */
export function sqliteVectors(options: SqliteVectorsOptions): VectorIndex {
  checkOptions('sqliteVectors', options, {
    database: isSqliteDatabase,
    now: isFunction,
  });
  if (options.database === undefined) throw new TypeError('sqliteVectors: database is missing, got undefined');
  return new SqliteVectors(options);
}

interface Tables {
  readonly rows: VectorRows;
  readonly chunks: VectorChunks;
}

class SqliteVectors implements VectorIndex {
  readonly name = 'sqlite';
  private readonly database: SqliteDatabase;
  private readonly now: () => number;
  private openTables: Tables | undefined;

  constructor({ database, now = Date.now }: SqliteVectorsOptions) {
    this.database = database;
    this.now = now;
  }

  async putStore(store: StoredVectorStore, mode: 'create' | 'replace'): Promise<boolean> {
    const isPut = this.change(({ rows }) => {
      const old = mode === 'replace' ? rows.store(store)?.store : undefined;
      return rows.putStore(old ? { ...store, createdAt: old.createdAt } : store, mode, this.now());
    });
    await this.sweepExpired();
    return isPut;
  }

  getStore(key: ResponseKey): StoredVectorStore | undefined {
    return this.tables.rows.store(key)?.store;
  }

  listStores(scope: string, query: VectorPageQuery) {
    return this.tables.rows.listStores(scope, query);
  }

  async deleteStore(key: ResponseKey): Promise<boolean> {
    const isDeleted = this.change(({ rows }) => {
      const found = rows.store(key);
      if (found) rows.deleteStore(found.number);
      return found !== undefined;
    });
    if (isDeleted) await this.sweep();
    return isDeleted;
  }

  countFiles(store: ResponseKey, batch?: string): FileCounts {
    return this.tables.rows.countFiles(this.numberOf(store), batch);
  }

  countStores(scope: string): number {
    return this.tables.rows.countStores(scope);
  }

  async addFiles(store: ResponseKey, files: readonly NewVectorFile[], batch?: VectorBatch): Promise<boolean> {
    const isAdded = this.change(({ rows }) => {
      const number = rows.living(store, this.now());
      if (number === undefined) return false;
      if (batch) rows.addBatch(number, batch);
      for (const file of files) rows.addFile(number, file);
      return true;
    });
    await this.sweep();
    return isAdded;
  }

  getFile(key: VectorFileKey) {
    return this.tables.rows.file(key)?.file;
  }

  listFiles(store: ResponseKey, query: VectorFilesQuery) {
    return this.tables.rows.listFiles(this.numberOf(store), query);
  }

  setAttributes(key: VectorFileKey, attributes: Attributes) {
    return this.change(({ rows }) => {
      const found = rows.file(key);
      if (found) rows.setAttributes(found.number, attributes);
      return found && { ...found.file, attributes };
    });
  }

  async deleteFile(key: VectorFileKey): Promise<boolean> {
    const isDeleted = this.change(({ rows }) => {
      const found = rows.file(key);
      if (found) rows.hideFile(found.number);
      return found !== undefined;
    });
    if (isDeleted) await this.sweep();
    return isDeleted;
  }

  getBatch({ scope, store, id }: VectorFileKey) {
    return this.tables.rows.batch(this.numberOf({ scope, id: store }), id);
  }

  async cancelBatch({ scope, store, id }: VectorFileKey): Promise<void> {
    const cancelled = this.change(({ rows }) => rows.cancelBatch(this.numberOf({ scope, id: store }), id));
    for (const number of cancelled) await this.purge(number);
  }

  chunkTexts(key: VectorFileKey, from: number, limit: number): readonly string[] {
    const { rows, chunks } = this.tables;
    const found = rows.file(key);
    return found ? chunks.texts(found.number, from, limit) : [];
  }

  claim(now: number, until: number, except: readonly string[] = []): IndexingClaim | undefined {
    // Looks without a lock first: processes look often, and rarely find a file.
    return this.tables.rows.hasToClaim(now, except)
      ? this.change(({ rows }) => rows.claim(now, until, except))
      : undefined;
  }

  extendClaim(claim: IndexingClaim, until: number): boolean {
    return this.changeClaimed(claim, (number, { rows }) => rows.extend(number, until));
  }

  async addChunks(claim: IndexingClaim, from: number, added: readonly Chunk[]): Promise<boolean> {
    const isAdded = this.changeClaimed(claim, (number, { rows, chunks }) => {
      const { scope, store } = claim.file;
      // The cast: a claimed file exists, and so does its vector store.
      const found = rows.store({ scope, id: store }) as FoundStore;
      const dimensions = found.dimensions ?? added[0]?.embedding.length;
      for (const { embedding } of added) checkDimensions(embedding, dimensions);
      if (dimensions !== undefined) rows.setDimensions(found.number, dimensions);
      rows.addedChunks(number, from + added.length, chunks.replace(found.number, number, from, added));
    });
    await this.sweepExpired();
    return isAdded;
  }

  endClaim(claim: IndexingClaim, end: IndexingEnd): boolean {
    return this.changeClaimed(claim, (number, { rows }) => rows.end(number, end));
  }

  async nearest(query: ChunkQuery, embedding: Float32Array): Promise<readonly FoundChunk[]> {
    const stores = this.searchedStores(query);
    for (const { dimensions } of stores) checkDimensions(embedding, dimensions);
    const { chunks } = this.tables;
    let best: readonly NearChunk[] = [];
    for (const files of sliceFiles(
      chunks.files(
        stores.map(({ number }) => number),
        query.filter,
      ),
      embedding.byteLength,
    )) {
      const found = [...best, ...chunks.nearest(files, embedding, query.limit)];
      best = found.toSorted((one, other) => other.score - one.score).slice(0, query.limit);
      await breathe();
    }
    return chunks.found(best);
  }

  async matching(query: ChunkQuery, text: string): Promise<readonly FoundChunk[]> {
    const { chunks } = this.tables;
    const stores = this.searchedStores(query).map(({ number }) => number);
    const counts = await inSteps(chunks.wordCounts(stores, text));
    const files = query.filter && (await inSteps(chunks.files(stores, query.filter))).flat();
    return chunks.found(chunks.matching(stores, files, counts, query.limit));
  }

  private get tables(): Tables {
    if (!this.openTables) {
      setUpSqlite(this.database);
      loadSqliteVec(this.database);
      this.openTables = { rows: new VectorRows(this.database), chunks: new VectorChunks(this.database) };
    }
    return this.openTables;
  }

  private change<Result>(body: (tables: Tables) => Result): Result {
    const { tables } = this;
    return inTransaction(this.database, () => body(tables));
  }

  private changeClaimed(claim: IndexingClaim, body: (number: number, tables: Tables) => void): boolean {
    return this.change((tables) => {
      const number = tables.rows.claimed(claim);
      if (number !== undefined) body(number, tables);
      return number !== undefined;
    });
  }

  /** No vector store has the number 0. */
  private numberOf(key: ResponseKey): number {
    return this.tables.rows.store(key)?.number ?? 0;
  }

  private searchedStores({ scope, stores }: ChunkQuery): readonly FoundStore[] {
    const now = this.now();
    return [...new Set(stores)].flatMap((id) => {
      const found = this.tables.rows.store({ scope, id });
      return found && !isStoreExpired(found.store, now) ? [found] : [];
    });
  }

  /** Also removes rows that a killed process has left. Other requests run in between. */
  private async sweep(): Promise<void> {
    for (let left = this.tables.rows.leftOver(); left.length > 0; left = this.tables.rows.leftOver()) {
      for (const number of left) {
        await this.purge(number);
        this.change(({ rows }) => rows.remove(number));
      }
      await breathe();
    }
  }

  /** Removes some chunks of vector stores that have expired, more than one write adds. Other requests run in between. */
  private async sweepExpired(): Promise<void> {
    // Looks without a lock first: there is rarely one.
    for (let step = 0; step < EXPIRED_STEPS && this.tables.rows.expired(this.now()) !== undefined; step += 1) {
      this.change(({ rows, chunks }) => {
        const number = rows.expired(this.now());
        if (number !== undefined) rows.endStore(number, chunks.purge(number, 'ofStore'));
      });
      await breathe();
    }
  }

  private async purge(number: number): Promise<void> {
    while (!this.change(({ chunks }) => chunks.purge(number))) await breathe();
  }
}

/** All of them; other requests run in between. */
async function inSteps<Step>(steps: Iterable<Step>): Promise<readonly Step[]> {
  const all: Step[] = [];
  for (const step of steps) {
    all.push(step);
    await breathe();
  }
  return all;
}

/** Groups of files whose embeddings take about `BYTES_AT_ONCE` together; at least one group for each piece. */
function* sliceFiles(
  pieces: Iterable<readonly SearchedFile[]>,
  bytesOfEach: number,
): Iterable<readonly SearchedFile[]> {
  for (const files of pieces) {
    let slice: SearchedFile[] = [];
    let bytes = 0;
    for (const file of files) {
      slice.push(file);
      bytes += file.chunks * bytesOfEach;
      if (bytes < BYTES_AT_ONCE) continue;
      yield slice;
      [slice, bytes] = [[], 0];
    }
    yield slice;
  }
}

function loadSqliteVec(database: SqliteDatabase): void {
  try {
    readRows(database.prepare('SELECT vec_version()'));
    return;
  } catch {
    // Not loaded yet.
  }
  const { load } = requirePeer<{ load(database: SqliteDatabase): void }>('sqliteVectors', 'sqlite-vec');
  try {
    load(database);
  } catch (cause) {
    throw new TypeError(
      'sqliteVectors: database cannot load sqlite-vec; open node:sqlite with { allowExtension: true }, or load it yourself',
      { cause },
    );
  }
}
