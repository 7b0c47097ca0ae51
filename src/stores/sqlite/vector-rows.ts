/** Vector stores, their batches and files in SQLite, and the claims of files. */
import type { ResponseKey } from '../../ports/store.ts';
import type { Attributes } from '../../ports/vectors/attributes.ts';
import {
  type FileCounts,
  type IndexingClaim,
  type IndexingEnd,
  MAX_BATCHES,
  type NewVectorFile,
  type StoredVectorStore,
  type VectorBatch,
  type VectorFile,
  type VectorFileKey,
  type VectorFilesQuery,
  type VectorPage,
  type VectorPageQuery,
} from '../../ports/vectors/vector-index.ts';
import { isBackwards, type StatusRow, toFileCounts, toPage, unknownPage } from '../vectors/vector-lists.ts';
import { prepareStatements, readRows, runStatement, type SqliteDatabase, type SqliteValue } from './database.ts';
import { keyColumns } from './responses.ts';

interface NumberRow {
  readonly number: number;
}

interface PlaceRow {
  readonly created_at: number;
  readonly id: string;
}

interface StoreRow extends NumberRow, PlaceRow {
  readonly dimensions: number | null;
  readonly body: string;
}

interface FileRow extends NumberRow, PlaceRow {
  readonly status: VectorFile['status'];
  readonly bytes: number;
  readonly chunks: number;
  readonly epoch: number;
  readonly attempts: number;
  readonly attributes: string;
  readonly error: string | null;
  readonly body: string;
}

/** A vector store and where it is kept; `dimensions` are those of its embeddings, if there are any. */
export interface FoundStore {
  readonly number: number;
  readonly store: StoredVectorStore;
  readonly dimensions: number | undefined;
}

/** The statements on the tables of vector stores and files; the caller provides transactions. */
export class VectorRows {
  private readonly database: SqliteDatabase;
  private readonly statements: ReturnType<typeof prepareVectorRows>;

  constructor(database: SqliteDatabase) {
    this.database = database;
    this.statements = prepareVectorRows(database);
  }

  /** Returns false if the one to replace has expired, also by the clock of another process. */
  putStore(store: StoredVectorStore, mode: 'create' | 'replace', now: number): boolean {
    if (mode === 'create')
      return runStatement(this.statements.create, ...keyColumns(store), store.createdAt, JSON.stringify(store));
    return runStatement(this.statements.replace, JSON.stringify(store), ...keyColumns(store), now);
  }

  store(key: ResponseKey): FoundStore | undefined {
    const [row] = readRows<StoreRow>(this.statements.store, ...keyColumns(key));
    if (!row) return undefined;
    const dimensions = row.dimensions === null ? undefined : Number(row.dimensions);
    return { number: Number(row.number), store: parseStoreRow(row), dimensions };
  }

  listStores(scope: string, query: VectorPageQuery): VectorPage<StoredVectorStore> {
    const [column] = keyColumns({ scope, id: '' });
    const find = (id: string) =>
      readRows<StoreRow>(this.statements.store, ...keyColumns({ scope, id })).map((row) => [row.created_at, row.id]);
    const page = this.page<StoreRow>(`SELECT * FROM ${STORES} WHERE scope = ?`, [column], query, find);
    return { ...page, entries: page.entries.map(parseStoreRow) };
  }

  countStores(scope: string): number {
    const [column] = keyColumns({ scope, id: '' });
    return Number(readRows<{ readonly count: number }>(this.statements.countStores, column)[0]?.count ?? 0);
  }

  /** Its files are hidden at once; `purge` removes them. */
  deleteStore(number: number): void {
    this.statements.hideFiles.run(number);
    this.statements.deleteBatches.run(number);
    this.statements.deleteStore.run(number);
  }

  /** The number of the vector store, unless it has expired. */
  living(key: ResponseKey, now: number): number | undefined {
    return readRows<NumberRow>(this.statements.living, ...keyColumns(key), now)[0]?.number;
  }

  /** The number of the vector store that expired first of those that have chunks. */
  expired(now: number): number | undefined {
    return readRows<NumberRow>(this.statements.expired, now)[0]?.number;
  }

  /** Its files count no chunks and are not indexed from now on. */
  endStore(number: number, isEmpty: boolean): void {
    this.statements.endFiles.run(number);
    this.statements.deleteBatches.run(number);
    this.statements.endStore.run(isEmpty ? 2 : 1, number);
  }

  setDimensions(store: number, dimensions: number): void {
    this.statements.setDimensions.run(dimensions, store);
  }

  addFile(store: number, file: NewVectorFile): void {
    const [scope, id] = keyColumns(file);
    this.statements.hideFile.run(store, id);
    const batch = file.batch === undefined ? null : JSON.stringify(file.batch);
    const { attributes, ...body } = file;
    const texts = [JSON.stringify(attributes), JSON.stringify(body)] as const;
    this.statements.addFile.run(scope, store, id, batch, file.createdAt, ...texts);
  }

  addBatch(store: number, batch: VectorBatch): void {
    this.statements.addBatch.run(store, JSON.stringify(batch.id), JSON.stringify(batch));
    this.statements.trimBatches.run(store, store);
  }

  batch(store: number, id: string): VectorBatch | undefined {
    const [row] = readRows<{ readonly body: string }>(this.statements.batch, store, JSON.stringify(id));
    // The cast: only `addBatch` writes these texts.
    return row && (JSON.parse(row.body) as VectorBatch);
  }

  /** The numbers of the files that are cancelled; `purge` removes their chunks. */
  cancelBatch(store: number, id: string): readonly number[] {
    return readRows<NumberRow>(this.statements.cancelBatch, store, JSON.stringify(id)).map(({ number }) =>
      Number(number),
    );
  }

  file(key: VectorFileKey): { readonly number: number; readonly file: VectorFile } | undefined {
    const row = this.fileRow(key);
    return row && { number: Number(row.number), file: parseVectorFileRow(row) };
  }

  listFiles(store: number, query: VectorFilesQuery): VectorPage<VectorFile> {
    const find = (id: string) =>
      readRows<FileRow>(this.statements.fileIn, store, JSON.stringify(id)).map((row) => [row.created_at, row.id]);
    const { status = null, batch } = query;
    const wanted = batch === undefined ? null : JSON.stringify(batch);
    const page = this.page<FileRow>(FILES_OF_STORE, [store, status, status, wanted, wanted], query, find);
    return { ...page, entries: page.entries.map(parseVectorFileRow) };
  }

  setAttributes(number: number, attributes: Attributes): void {
    this.statements.setAttributes.run(JSON.stringify(attributes), number);
  }

  countFiles(store: number, batch: string | undefined): FileCounts {
    const wanted = batch === undefined ? null : JSON.stringify(batch);
    return toFileCounts(readRows<StatusRow>(this.statements.countFiles, store, wanted, wanted));
  }

  hasToClaim(now: number, except: readonly string[]): boolean {
    return this.nextFiles(now, except).length > 0;
  }

  claim(now: number, until: number, except: readonly string[]): IndexingClaim | undefined {
    const [next] = this.nextFiles(now, except);
    if (!next) return undefined;
    this.statements.claim.run(this.nextEpoch(), until, next.number);
    const [row] = readRows<FileRow>(this.statements.fileAt, next.number);
    if (!row) return undefined;
    const [epoch, attempts, chunks] = [Number(row.epoch), Number(row.attempts), Number(row.chunks)];
    return { file: parseVectorFileRow(row), epoch, attempts, chunks };
  }

  /** The number of the claimed file, if the claim is not lost. */
  claimed({ file, epoch }: IndexingClaim): number | undefined {
    const row = this.fileRow(file);
    return row?.status === 'in_progress' && Number(row.epoch) === epoch ? Number(row.number) : undefined;
  }

  extend(number: number, until: number): void {
    this.statements.extend.run(until, number);
  }

  end(number: number, end: IndexingEnd): void {
    // A new epoch, which no claim has: the present claim is lost.
    if (end.status === 'retry') this.statements.retry.run(end.at, this.nextEpoch(), number);
    else this.statements.end.run(end.status, end.status === 'failed' ? JSON.stringify(end.error) : null, number);
  }

  hideFile(number: number): void {
    this.statements.hide.run(number);
  }

  addedChunks(number: number, chunks: number, bytes: number): void {
    this.statements.addedChunks.run(chunks, bytes, number);
  }

  /** Some of the files that were deleted, replaced, or were in a vector store that was deleted. */
  leftOver(): readonly number[] {
    return readRows<NumberRow>(this.statements.leftOver).map(({ number }) => Number(number));
  }

  remove(number: number): void {
    this.statements.remove.run(number);
  }

  private nextFiles(now: number, except: readonly string[]): readonly NumberRow[] {
    const scopes = except.map((scope) => keyColumns({ scope, id: '' })[0]);
    return readRows<NumberRow>(this.statements.next, now, JSON.stringify(scopes));
  }

  private nextEpoch(): number {
    return Number(readRows<{ readonly last: number }>(this.statements.nextEpoch)[0]?.last);
  }

  private fileRow({ scope, store, id }: VectorFileKey): FileRow | undefined {
    const [scopeColumn, storeColumn] = keyColumns({ scope, id: store });
    return readRows<FileRow>(this.statements.file, scopeColumn, storeColumn, JSON.stringify(id))[0];
  }

  /** One page of the rows that `select` reads; `find` returns the position of an id, in a list of at most one. */
  private page<Row>(
    select: string,
    values: readonly SqliteValue[],
    query: VectorPageQuery,
    find: (id: string) => readonly (readonly (number | string)[])[],
  ): VectorPage<Row> {
    const { after, before, limit, order } = query;
    const [first, last] = [after, before].map((id) => (id === undefined ? [] : find(id)[0]));
    if (!first || !last) return unknownPage();
    const beyond = order === 'asc' ? ['>', '<'] : ['<', '>'];
    const reading = (order === 'asc') === isBackwards(query) ? 'DESC' : 'ASC';
    const bounds = [first, last].map((place, at) =>
      place.length > 0 ? ` AND (created_at, id) ${beyond[at]} (?, ?)` : '',
    );
    const sql = `${select}${bounds.join('')} ORDER BY created_at ${reading}, id ${reading} LIMIT ?`;
    return toPage(readRows<Row>(this.database.prepare(sql), ...values, ...first, ...last, limit + 1), query);
  }
}

const STORES = 'open_responses_vector_stores';
const FILES = 'open_responses_vector_files';
const BATCHES = 'open_responses_vector_batches';
const LIVING = 'scope = ? AND id = ? AND ended = 0 AND coalesce(expires_at > ?, 1)';
const FILES_OF_STORE = `SELECT * FROM ${FILES} WHERE store = ? AND status <> 'gone'
  AND (? IS NULL OR status = ?) AND (? IS NULL OR batch = ?)`;
/** The oldest file of each tenant, found by one step in an index; the next is the tenant that was served longest ago. */
const NEXT = `
  WITH RECURSIVE tenants (scope) AS (
    SELECT min(scope) FROM ${FILES} WHERE status = 'in_progress'
    UNION ALL
    SELECT (SELECT min(scope) FROM ${FILES} WHERE status = 'in_progress' AND scope > tenants.scope)
    FROM tenants WHERE scope IS NOT NULL),
  nexts AS (
    SELECT (SELECT number FROM ${FILES} WHERE status = 'in_progress' AND scope = tenants.scope AND claimable_at <= ?
              ORDER BY created_at, id LIMIT 1) AS number,
           (SELECT max(epoch) FROM ${FILES} WHERE scope = tenants.scope) AS turn
    FROM tenants WHERE scope IS NOT NULL AND scope NOT IN (SELECT value FROM json_each(?)))
  SELECT number FROM nexts WHERE number IS NOT NULL ORDER BY turn, number LIMIT 1`;

function prepareVectorRows(database: SqliteDatabase) {
  return prepareStatements(database, {
    ...vectorStoreSql(),
    ...vectorFileSql(),
    next: NEXT,
    nextEpoch: 'UPDATE open_responses_vector_claims SET last = last + 1 RETURNING last',
    claim: `UPDATE ${FILES} SET epoch = ?, claimable_at = ?, attempts = attempts + 1 WHERE number = ?`,
    extend: `UPDATE ${FILES} SET claimable_at = ? WHERE number = ?`,
    retry: `UPDATE ${FILES} SET claimable_at = ?, epoch = ? WHERE number = ?`,
    end: `UPDATE ${FILES} SET status = ?, error = ? WHERE number = ?`,
    addedChunks: `UPDATE ${FILES} SET chunks = ?, bytes = bytes + ? WHERE number = ?`,
  });
}

function vectorStoreSql() {
  const hasChunks = `EXISTS (SELECT 1 FROM ${FILES} WHERE store = ${STORES}.number AND status <> 'gone' AND chunks > 0)`;
  return {
    create: `INSERT INTO ${STORES} (scope, id, created_at, body) VALUES (?, ?, ?, ?)`,
    replace: `UPDATE ${STORES} SET body = ? WHERE ${LIVING}`,
    living: `SELECT number FROM ${STORES} WHERE ${LIVING}`,
    expired: `SELECT number FROM ${STORES} WHERE ended < 2 AND expires_at <= ? ORDER BY expires_at LIMIT 1`,
    endStore: `UPDATE ${STORES} SET ended = ? WHERE number = ?`,
    store: `SELECT number, created_at, id, body, CASE WHEN ${hasChunks} THEN dimensions END AS dimensions
       FROM ${STORES} WHERE scope = ? AND id = ?`,
    countStores: `SELECT count(*) AS count FROM ${STORES} WHERE scope = ?`,
    deleteStore: `DELETE FROM ${STORES} WHERE number = ?`,
    setDimensions: `UPDATE ${STORES} SET dimensions = ? WHERE number = ?`,
    addBatch: `INSERT OR REPLACE INTO ${BATCHES} (store, id, body) VALUES (?, ?, ?)`,
    batch: `SELECT body FROM ${BATCHES} WHERE store = ? AND id = ?`,
    trimBatches: `DELETE FROM ${BATCHES} WHERE store = ? AND rowid <= (
      SELECT rowid FROM ${BATCHES} WHERE store = ? ORDER BY rowid DESC LIMIT 1 OFFSET ${MAX_BATCHES})`,
    deleteBatches: `DELETE FROM ${BATCHES} WHERE store = ?`,
  };
}

function vectorFileSql() {
  return {
    hideFiles: `UPDATE ${FILES} SET status = 'gone' WHERE store = ? AND status <> 'gone'`,
    hideFile: `UPDATE ${FILES} SET status = 'gone' WHERE store = ? AND id = ? AND status <> 'gone'`,
    hide: `UPDATE ${FILES} SET status = 'gone' WHERE number = ?`,
    addFile: `INSERT INTO ${FILES} (scope, store, id, batch, created_at, status, attributes, body)
       VALUES (?, ?, ?, ?, ?, 'in_progress', ?, ?)`,
    cancelBatch: `UPDATE ${FILES} SET status = 'cancelled', chunks = 0, bytes = 0 WHERE store = ? AND batch = ? AND status = 'in_progress' RETURNING number`,
    endFiles: `UPDATE ${FILES} SET chunks = 0, bytes = 0, status = iif(status = 'in_progress', 'cancelled', status)
       WHERE store = ? AND status <> 'gone' AND (chunks > 0 OR status = 'in_progress')`,
    file: `SELECT * FROM ${FILES} WHERE store = (SELECT number FROM ${STORES} WHERE scope = ? AND id = ?) AND id = ?
         AND status <> 'gone'`,
    fileIn: `SELECT * FROM ${FILES} WHERE store = ? AND id = ? AND status <> 'gone'`,
    fileAt: `SELECT * FROM ${FILES} WHERE number = ?`,
    setAttributes: `UPDATE ${FILES} SET attributes = ? WHERE number = ?`,
    countFiles: `SELECT status, count(*) AS files, sum(bytes) AS bytes FROM ${FILES}
       WHERE store = ? AND status <> 'gone' AND (? IS NULL OR batch = ?) GROUP BY status`,
    leftOver: `SELECT number FROM ${FILES} WHERE status = 'gone' LIMIT 64`,
    remove: `DELETE FROM ${FILES} WHERE number = ?`,
  };
}

function parseStoreRow({ body }: StoreRow): StoredVectorStore {
  // The cast: only `putStore` writes these texts.
  return JSON.parse(body) as StoredVectorStore;
}

function parseVectorFileRow({ body, attributes, status, bytes, error }: FileRow): VectorFile {
  // The casts: only `addFile`, `setAttributes` and `end` write these texts.
  const file = { ...(JSON.parse(body) as NewVectorFile), attributes: JSON.parse(attributes) as Attributes };
  return { ...file, status, bytes: Number(bytes), ...(error === null ? {} : { error: JSON.parse(error) }) };
}
