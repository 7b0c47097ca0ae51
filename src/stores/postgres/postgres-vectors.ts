/** Keeps vector stores in PostgreSQL with pgvector, for any number of processes. */

import { checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { dimensionMismatch, isStoreError } from '../../ports/store-error.ts';
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
  type VectorFile,
  type VectorFileKey,
  type VectorFilesQuery,
  type VectorIndex,
  type VectorPage,
  type VectorPageQuery,
} from '../../ports/vectors/vector-index.ts';
import { digestBytes } from '../store-parts.ts';
import { chunkBytes, lowerCaseWords, searchedWords, storableChunkText } from '../vectors/chunk-texts.ts';
import {
  checkDimensions,
  isBackwards,
  type StatusRow,
  toFileCounts,
  toPage,
  unknownPage,
} from '../vectors/vector-lists.ts';
import {
  firstField,
  idSortKey,
  inTransaction,
  isPool,
  isPrefix,
  type PostgresPool,
  type PostgresQueries,
} from './schema.ts';
import { filterCondition, toJsonb } from './vector-filter.ts';
import { migrateVectors, type VectorTables, vectorTables } from './vector-schema.ts';
import { vectorStatements } from './vector-sql.ts';
import { wordSearch } from './word-search.ts';

/** The database and the language of its full-text search; `undefined` means the default. */
export interface PostgresVectorsOptions {
  /** A pool of the package `pg`; it may be that of `postgresStore`. The host listens to its `error` events and ends it. */
  readonly pool: PostgresPool;
  /** The prefix of every table's name, as for `postgresStore`. Default: `open_responses_`. */
  readonly tablePrefix?: string | undefined;
  /** The text search configuration of PostgreSQL, such as `english`. Default: `simple`, which takes words as they are. */
  readonly language?: string | undefined;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const isLanguage: OptionCheck = (value) =>
  (typeof value === 'string' && /^[a-z_][a-z0-9_]{0,62}$/.test(value)) || 'the name of a text search configuration';

/**
 * Compares the query with every embedding of the searched vector stores, so results are exact. The database needs the extension
 * `vector`. Throws a `TypeError` for a bad option.
 */
export function postgresVectors(options: PostgresVectorsOptions): VectorIndex {
  checkOptions('postgresVectors', options, {
    pool: isPool,
    tablePrefix: isPrefix,
    language: isLanguage,
    now: isFunction,
  });
  if (options.pool === undefined) throw new TypeError('postgresVectors: pool is missing, got undefined');
  return new PostgresVectors(options);
}

/** A row of any of the tables: numbers that are `bigint` come as texts. */
type Row = Readonly<Record<string, string | number | null>>;

class PostgresVectors implements VectorIndex {
  readonly name = 'postgres';
  private readonly pool: PostgresPool;
  private readonly tables: VectorTables;
  private readonly sql: ReturnType<typeof vectorStatements>;
  private readonly language: string;
  private readonly now: () => number;
  private ready: Promise<void> | undefined;

  constructor({ pool, tablePrefix = 'open_responses_', language = 'simple', now = Date.now }: PostgresVectorsOptions) {
    this.pool = pool;
    this.tables = vectorTables(tablePrefix);
    this.sql = vectorStatements(this.tables);
    this.language = language;
    this.now = now;
  }

  async putStore(store: StoredVectorStore, mode: 'create' | 'replace'): Promise<boolean> {
    const body = JSON.stringify(store);
    const values = mode === 'create' ? [idSortKey(store.id), store.createdAt, body] : [body, this.now()];
    const isPut = (await this.rows(this.sql[mode], ...keyDigests(store), ...values)).length > 0;
    await this.sweep();
    return isPut;
  }

  async getStore(key: ResponseKey): Promise<StoredVectorStore | undefined> {
    const [row] = await this.rows(this.sql.store, ...keyDigests(key));
    return row && parseColumn(row.body);
  }

  async listStores(scope: string, query: VectorPageQuery): Promise<VectorPage<StoredVectorStore>> {
    const find = async (id: string) => (await this.rows(this.sql.store, ...keyDigests({ scope, id })))[0];
    const page = await this.page(this.sql.listStores, [digestBytes(scope)], query, find);
    return { ...page, entries: page.entries.map(({ body }) => parseColumn(body)) };
  }

  async deleteStore(key: ResponseKey): Promise<boolean> {
    return (await this.rows(this.sql.deleteStore, ...keyDigests(key))).length > 0;
  }

  async countFiles(store: ResponseKey, batch?: string): Promise<FileCounts> {
    const rows = await this.rows(this.sql.countFiles, ...keyDigests(store), optionalDigest(batch));
    // The cast: the statement names these columns.
    return toFileCounts(rows as unknown as readonly StatusRow[]);
  }

  async countStores(scope: string): Promise<number> {
    return Number(firstField(await this.rows(this.sql.countStores, digestBytes(scope)), 'count'));
  }

  addFiles(store: ResponseKey, files: readonly NewVectorFile[], batch?: VectorBatch): Promise<boolean> {
    return this.change(async (client) => {
      const number = firstField(
        await queryRows(client, this.sql.lockLiving, ...keyDigests(store), this.now()),
        'number',
      );
      if (number === undefined) return false;
      if (batch) {
        await queryRows(client, this.sql.addBatch, number, digestBytes(batch.id), JSON.stringify(batch));
        await queryRows(client, this.sql.trimBatches, number, digestBytes(batch.id));
      }
      const added = new Map(files.map((file) => [file.id, file]));
      await queryRows(client, this.sql.removeFiles, number, [...added.keys()].map(digestBytes));
      for (const file of added.values()) await queryRows(client, this.sql.addFile, ...newFileValues(file, number));
      return true;
    });
  }

  async getFile(key: VectorFileKey): Promise<VectorFile | undefined> {
    const [row] = await this.rows(this.sql.file, ...fileDigests(key));
    return row && toVectorFile(row);
  }

  async listFiles(store: ResponseKey, query: VectorFilesQuery): Promise<VectorPage<VectorFile>> {
    const [found] = await this.rows(this.sql.store, ...keyDigests(store));
    const { scope, id } = store;
    const find = async (file: string) =>
      (await this.rows(this.sql.file, ...fileDigests({ scope, store: id, id: file })))[0];
    const values = [found?.number ?? 0, query.status ?? null, optionalDigest(query.batch)];
    const page = await this.page(this.sql.listFiles, values, query, find);
    return { ...page, entries: page.entries.map(toVectorFile) };
  }

  async setAttributes(key: VectorFileKey, attributes: Attributes): Promise<VectorFile | undefined> {
    const values = [...fileDigests(key), toJsonb(attributes), JSON.stringify(attributes)];
    const [row] = await this.rows(this.sql.setAttributes, ...values);
    return row && toVectorFile(row);
  }

  async deleteFile(key: VectorFileKey): Promise<boolean> {
    return (await this.rows(this.sql.deleteFile, ...fileDigests(key))).length > 0;
  }

  async getBatch(key: VectorFileKey): Promise<VectorBatch | undefined> {
    const [row] = await this.rows(this.sql.batch, ...fileDigests(key));
    return row && parseColumn(row.body);
  }

  async cancelBatch(key: VectorFileKey): Promise<void> {
    await this.change(async (client) => {
      const cancelled = await queryRows(client, this.sql.cancelBatch, ...fileDigests(key));
      // A statement of its own, which sees the chunks that a claim stored while the first one waited for it.
      await queryRows(
        client,
        this.sql.emptyFiles,
        cancelled.map(({ number }) => number),
      );
    });
  }

  async chunkTexts(key: VectorFileKey, from: number, limit: number): Promise<readonly string[]> {
    return (await this.rows(this.sql.chunkTexts, ...fileDigests(key), from, limit)).map(({ text }) => String(text));
  }

  async claim(now: number, until: number, except: readonly string[] = []): Promise<IndexingClaim | undefined> {
    for (const { scope } of await this.rows(this.sql.tenants, now, except.map(digestBytes))) {
      const [row] = await this.rows(this.sql.claim, scope, now, until);
      // Another process may have taken the tenant's only file.
      if (!row) continue;
      const [epoch, attempts, chunks] = [Number(row.epoch), Number(row.attempts), Number(row.chunks)];
      return { file: toVectorFile(row), epoch, attempts, chunks };
    }
    return undefined;
  }

  async extendClaim(claim: IndexingClaim, until: number): Promise<boolean> {
    return (await this.rows(this.sql.extend, ...[...fileDigests(claim.file), claim.epoch], until)).length > 0;
  }

  async addChunks(claim: IndexingClaim, from: number, chunks: readonly Chunk[]): Promise<boolean> {
    // Returned and thrown later: an error within the transaction closes its connection.
    const outcome = await this.change((client) => this.storeChunks(client, claim, from, chunks));
    await this.sweep();
    if (isStoreError(outcome, 'dimension_mismatch')) throw outcome;
    return outcome;
  }

  async endClaim(claim: IndexingClaim, end: IndexingEnd): Promise<boolean> {
    const key = [...fileDigests(claim.file), claim.epoch];
    if (end.status === 'retry') return (await this.rows(this.sql.retry, ...key, end.at)).length > 0;
    const error = end.status === 'failed' ? JSON.stringify(end.error) : null;
    return (await this.rows(this.sql.end, ...key, end.status, error)).length > 0;
  }

  async nearest(query: ChunkQuery, embedding: Float32Array): Promise<readonly FoundChunk[]> {
    const stores = await this.searchedStores(query);
    for (const { dimensions } of stores)
      checkDimensions(embedding, dimensions === null ? undefined : Number(dimensions));
    const values: unknown[] = [];
    const add = (value: unknown) => `$${values.push(value)}`;
    const { filter, limit } = query;
    const wanted = add(stores.map(({ number }) => number));
    const distance = `c.embedding <=> ${add(`[${embedding.join(',')}]`)}::text::vector`;
    const matching = filter ? filterCondition(filter, add) : 'true';
    const { chunks, files } = this.tables;
    const sql = `
      SELECT c.place, c.text, f.body, f.notes, 1 - (${distance}) AS score
      FROM ${chunks} c JOIN ${files} f ON f.number = c.file
      WHERE c.store = ANY (${wanted}::bigint[]) AND f.status = 'completed' AND ${matching}
      ORDER BY ${distance} LIMIT ${add(limit)}`;
    return (await this.rows(sql, ...values)).map(toFoundChunk);
  }

  async matching(query: ChunkQuery, text: string): Promise<readonly FoundChunk[]> {
    const words = searchedWords(text).map((word) => `"${word}"`);
    if (words.length === 0) return [];
    const stores = await this.searchedStores(query);
    const values: unknown[] = [];
    const add = (value: unknown) => `$${values.push(value)}`;
    const { filter, limit } = query;
    const sql = wordSearch(this.tables, {
      ...{ stores: add(stores.map(({ number }) => number)), limit: add(limit) },
      ...{ language: add(this.language), words: add(words) },
      matching: filter ? filterCondition(filter, add) : 'true',
    });
    return (await this.rows(sql, ...values)).map(toFoundChunk);
  }

  private async storeChunks(client: PostgresQueries, claim: IndexingClaim, from: number, chunks: readonly Chunk[]) {
    const { scope, store } = claim.file;
    // Locks the vector store first, as every transaction that locks both does, to avoid a deadlock.
    const [vectorStore] = await queryRows(client, this.sql.lockStore, ...keyDigests({ scope, id: store }));
    const [file] = await queryRows(client, this.sql.lockFile, ...[...fileDigests(claim.file), claim.epoch]);
    if (!vectorStore || !file) return false;
    const dimensions = Number(vectorStore.dimensions ?? chunks[0]?.embedding.length ?? 0);
    const other = chunks.find(({ embedding }) => embedding.length !== dimensions);
    if (other) return dimensionMismatch(other.embedding.length, dimensions);
    if (dimensions > 0) await queryRows(client, this.sql.setDimensions, vectorStore.number, dimensions);
    const freed = Number(firstField(await queryRows(client, this.sql.removeChunks, file.number, from), 'bytes'));
    const texts = chunks.map(({ text }) => storableChunkText(text));
    const vectors = chunks.map(({ embedding }) => `[${embedding.join(',')}]`);
    const columns = [texts, vectors, texts.map(lowerCaseWords), this.language];
    await queryRows(client, this.sql.addChunks, file.number, vectorStore.number, from, ...columns);
    const bytes = chunks.reduce((sum, chunk) => sum + chunkBytes(chunk), 0) - freed;
    await queryRows(client, this.sql.addedChunks, file.number, from + chunks.length, bytes);
    return true;
  }

  /** Removes some chunks of the vector store that expired first. A failure waits for the next write: this one is done. */
  private async sweep(): Promise<void> {
    const now = this.now();
    const { length } = await this.rows(this.sql.expired, now).catch(() => []);
    if (length > 0) await this.change((client) => this.removeExpired(client, now)).catch(() => {});
  }

  private async removeExpired(client: PostgresQueries, now: number): Promise<void> {
    // Skips what another process empties.
    const number = firstField(await queryRows(client, `${this.sql.expired} FOR UPDATE SKIP LOCKED`, now), 'number');
    // A statement of its own, which sees the chunks that a claim stored before the lock.
    if (number === undefined) return;
    await queryRows(client, this.sql.endStore, number);
    await queryRows(client, this.sql.deleteBatches, number);
  }

  private async searchedStores({ scope, stores }: ChunkQuery): Promise<readonly Row[]> {
    const rows = await this.rows(this.sql.stores, digestBytes(scope), stores.map(digestBytes));
    const now = this.now();
    return rows.filter(({ body }) => !isStoreExpired(parseColumn<StoredVectorStore>(body), now));
  }

  private async page(
    select: string,
    own: readonly unknown[],
    query: VectorPageQuery,
    find: (id: string) => Promise<Row | undefined>,
  ): Promise<VectorPage<Row>> {
    const { after, before, limit, order } = query;
    const places = await Promise.all([after, before].map(async (id) => (id === undefined ? null : find(id))));
    if (places.includes(undefined)) return unknownPage();
    const values = [...own];
    const beyond = order === 'asc' ? ['>', '<'] : ['<', '>'];
    const bounds = places.map((row, at) => {
      if (!row) return '';
      values.push(row.created_at, row.place);
      return ` AND (created_at, place) ${beyond[at]} ($${values.length - 1}::bigint, $${values.length}::bytea)`;
    });
    const reading = (order === 'asc') === isBackwards(query) ? 'DESC' : 'ASC';
    values.push(limit + 1);
    const sql = `${select}${bounds.join('')} ORDER BY created_at ${reading}, place ${reading} LIMIT $${values.length}`;
    return toPage(await this.rows(sql, ...values), query);
  }

  private async rows(text: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    await this.ensureTables();
    return queryRows(this.pool, text, ...values);
  }

  private async change<Result>(work: (client: PostgresQueries) => Promise<Result>): Promise<Result> {
    await this.ensureTables();
    return inTransaction(this.pool, work);
  }

  private ensureTables(): Promise<void> {
    this.ready ??= migrateVectors(this.pool, this.tables).catch((error: unknown) => {
      // So that the next caller tries again.
      this.ready = undefined;
      throw error;
    });
    return this.ready;
  }
}

async function queryRows(
  queries: PostgresQueries,
  text: string,
  ...values: readonly unknown[]
): Promise<readonly Row[]> {
  // The cast: the statement's own text names its columns.
  return (await queries.query(text, [...values])).rows as readonly Row[];
}

function keyDigests({ scope, id }: ResponseKey): readonly Uint8Array[] {
  return [digestBytes(scope), digestBytes(id)];
}

function fileDigests({ scope, store, id }: VectorFileKey): readonly Uint8Array[] {
  return [digestBytes(scope), digestBytes(store), digestBytes(id)];
}

function optionalDigest(text: string | undefined): Uint8Array | null {
  return text === undefined ? null : digestBytes(text);
}

function newFileValues({ attributes, ...body }: NewVectorFile, store: unknown): readonly unknown[] {
  const { scope, id, batch, createdAt } = body;
  const notes = [toJsonb(attributes), JSON.stringify(attributes)];
  const key = [digestBytes(scope), store, digestBytes(id), idSortKey(id), optionalDigest(batch), createdAt];
  return [...key, ...notes, JSON.stringify(body)];
}

function parseColumn<Value>(text: unknown): Value {
  // The cast: only this file writes these texts.
  return JSON.parse(String(text)) as Value;
}

function toVectorFile(row: Row): VectorFile {
  const file = { ...parseColumn<NewVectorFile>(row.body), attributes: parseColumn<Attributes>(row.notes) };
  const error = row.error === null ? {} : { error: parseColumn<VectorFile['error']>(row.error) };
  // The cast: only this file writes these texts.
  const status = row.status as VectorFile['status'];
  return { ...file, status, bytes: Number(row.bytes), ...error };
}

function toFoundChunk({ place, text, body, notes, score }: Row): FoundChunk {
  const { store, id, filename } = parseColumn<NewVectorFile>(body);
  // A vector of zeros has no direction: pgvector answers NaN.
  const near = Number.isNaN(Number(score)) ? 0 : Number(score);
  const where = { store, file: id, filename, attributes: parseColumn<Attributes>(notes) };
  return { ...where, place: Number(place), text: String(text), score: near };
}
