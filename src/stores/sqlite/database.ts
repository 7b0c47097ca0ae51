/** The driver methods that the SQLite store needs (those that node:sqlite, better-sqlite3 and libsql share), and its tables. */
import type { OptionCheck } from '../../ports/host/options-check.ts';
import { isRecord } from '../../protocol/record.ts';

/** The values of a statement: JSON as text, times, and the bytes of files. */
export type SqliteValue = string | number | bigint | Buffer | null;

/** A prepared statement. */
export interface SqliteStatement {
  /** Runs the statement, and returns how many rows it changed. */
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  /** Runs the statement, and returns its rows as objects. */
  all(...values: SqliteValue[]): unknown[];
}

/** An open connection of a synchronous driver. */
export interface SqliteDatabase {
  /** Runs statements without parameters or results. */
  exec(sql: string): unknown;
  /** Compiles one statement. */
  prepare(sql: string): SqliteStatement;
}

/** Checks the option `database`. */
export const isSqliteDatabase: OptionCheck = (value) =>
  // Their methods are inherited, and may be those of an async driver, which `waitForOthers` detects.
  (isRecord(value) && typeof value.exec === 'function' && typeof value.prepare === 'function') ||
  'a connection with exec() and prepare()';

/** Runs the body as one transaction, which other connections see whole or not at all. */
export function inTransaction<Result>(database: SqliteDatabase, body: () => Result): Result {
  // Not deferred: a deferred one fails at once at its first write if another connection wrote since its first read.
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = body();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    try {
      database.exec('ROLLBACK');
    } catch {
      // SQLite has already rolled back, as it does when the disk is full; the original error is the useful one.
    }
    throw error;
  }
}

/** The rows of a query, whose columns the caller names. */
export function readRows<Row>(statement: SqliteStatement, ...values: SqliteValue[]): readonly Row[] {
  // The cast: the statement's own text names its columns. `all` instead of `get`, which may leave it half read.
  return statement.all(...values) as Row[];
}

/** Compiles the statements, by name. */
export function prepareStatements<Name extends string>(
  database: SqliteDatabase,
  texts: Readonly<Record<Name, string>>,
): Readonly<Record<Name, SqliteStatement>> {
  const statements = Object.entries<string>(texts).map(([name, text]) => [name, database.prepare(text)]);
  // The cast: it has the names of the texts.
  return Object.fromEntries(statements) as Record<Name, SqliteStatement>;
}

/** Whether the statement changed any row. */
export function runStatement(statement: SqliteStatement, ...values: SqliteValue[]): boolean {
  return Number(statement.run(...values).changes) > 0;
}

const BUSY_TIMEOUT_MS = 5000;

// Each step migrates from the version before it, so a released step must never change: add one.
const MIGRATIONS = [
  `CREATE TABLE open_responses (
     scope TEXT NOT NULL, id TEXT NOT NULL, previous_id TEXT, expires_at INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (scope, id));
   CREATE INDEX open_responses_expiry ON open_responses (expires_at);`,
  `CREATE TABLE open_responses_conversations (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     scope TEXT NOT NULL, id TEXT NOT NULL, expires_at INTEGER NOT NULL, body TEXT NOT NULL,
     UNIQUE (scope, id));
   CREATE INDEX open_responses_conversations_expiry ON open_responses_conversations (expires_at);
   CREATE TABLE open_responses_items (
     place INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL, id TEXT, body TEXT NOT NULL);
   CREATE INDEX open_responses_items_order ON open_responses_items (conversation, place);`,
  `ALTER TABLE open_responses ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE open_responses_conversations ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
   UPDATE open_responses_conversations SET bytes = (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0)
     FROM open_responses_items WHERE conversation = open_responses_conversations.number);
   CREATE INDEX open_responses_items_by_id ON open_responses_items (conversation, id, place);`,
  `CREATE TABLE open_responses_event_logs (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     scope TEXT NOT NULL, id TEXT NOT NULL, expires_at INTEGER NOT NULL,
     epoch INTEGER NOT NULL, next INTEGER NOT NULL, ended INTEGER NOT NULL, state TEXT NOT NULL,
     UNIQUE (scope, id));
   CREATE INDEX open_responses_event_logs_expiry ON open_responses_event_logs (expires_at);
   CREATE TABLE open_responses_events (
     log INTEGER NOT NULL, place INTEGER NOT NULL, bytes INTEGER NOT NULL, body TEXT NOT NULL);
   CREATE UNIQUE INDEX open_responses_events_order ON open_responses_events (log, place);`,
  `CREATE TABLE open_responses_files (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     scope TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, touched_at INTEGER NOT NULL,
     created_at INTEGER NOT NULL, expires_at INTEGER, purpose TEXT, bytes INTEGER NOT NULL, body TEXT);
   CREATE UNIQUE INDEX open_responses_files_by_id ON open_responses_files (scope, id) WHERE state = 'whole';
   CREATE INDEX open_responses_files_order ON open_responses_files (scope, state, created_at, id);
   CREATE INDEX open_responses_files_expiry ON open_responses_files (expires_at) WHERE expires_at IS NOT NULL;
   CREATE INDEX open_responses_files_unfinished ON open_responses_files (touched_at) WHERE state <> 'whole';
   CREATE TABLE open_responses_file_pieces (
     file INTEGER NOT NULL, place INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (file, place));`,
  `CREATE TABLE open_responses_vector_stores (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     scope TEXT NOT NULL, id TEXT NOT NULL, created_at INTEGER NOT NULL, dimensions INTEGER, body TEXT NOT NULL,
     UNIQUE (scope, id));
   CREATE INDEX open_responses_vector_stores_order ON open_responses_vector_stores (scope, created_at, id);
   CREATE TABLE open_responses_vector_batches (
     store INTEGER NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (store, id));
   CREATE TABLE open_responses_vector_files (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     scope TEXT NOT NULL, store INTEGER NOT NULL, id TEXT NOT NULL, batch TEXT, created_at INTEGER NOT NULL,
     status TEXT NOT NULL, bytes INTEGER NOT NULL DEFAULT 0, chunks INTEGER NOT NULL DEFAULT 0,
     epoch INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, claimable_at INTEGER NOT NULL DEFAULT 0,
     attributes TEXT NOT NULL, error TEXT, body TEXT NOT NULL);
   CREATE UNIQUE INDEX open_responses_vector_files_by_id ON open_responses_vector_files (store, id)
     WHERE status <> 'gone';
   CREATE INDEX open_responses_vector_files_order ON open_responses_vector_files (store, created_at, id)
     WHERE status <> 'gone';
   CREATE INDEX open_responses_vector_files_waiting ON open_responses_vector_files (scope, created_at, id)
     WHERE status = 'in_progress';
   CREATE INDEX open_responses_vector_files_turns ON open_responses_vector_files (scope, epoch);
   CREATE INDEX open_responses_vector_files_gone ON open_responses_vector_files (number) WHERE status = 'gone';
   CREATE TABLE open_responses_vector_chunks (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     file INTEGER NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (file, place));
   CREATE TABLE open_responses_vector_embeddings (chunk INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
   CREATE TABLE open_responses_vector_claims (last INTEGER NOT NULL);
   INSERT INTO open_responses_vector_claims (last) VALUES (0);`,
  // 'ended' is 1 while the chunks of an expired vector store are removed, and then 2.
  `ALTER TABLE open_responses_vector_stores ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE open_responses_vector_stores ADD COLUMN expires_at INTEGER
     AS (json_extract(body, '$.lastActiveAt') + json_extract(body, '$.expiresAfterMs'));
   CREATE INDEX open_responses_vector_stores_expiry ON open_responses_vector_stores (expires_at) WHERE ended < 2;`,
  `CREATE TABLE open_responses_turn_parts (
     conversation INTEGER NOT NULL, turn TEXT NOT NULL, epoch INTEGER NOT NULL, ids TEXT NOT NULL,
     PRIMARY KEY (conversation, turn)) WITHOUT ROWID;`,
] as const;

/** Prepares the connection and creates or upgrades the tables; any number of processes may do so at once. */
export function setUpSqlite(database: SqliteDatabase): void {
  waitForOthers(database);
  enableWriteAhead(database);
  // FULL, so that acknowledged writes are on the disk: the default differs between drivers.
  database.exec('PRAGMA synchronous = FULL');
  inTransaction(database, () => migrateSqlite(database));
}

/** Runs first: any other statement may meet another connection's lock. */
function waitForOthers(database: SqliteDatabase): void {
  const rows = readRows<{ readonly timeout: number }>(database.prepare('PRAGMA busy_timeout'));
  // A driver such as `sqlite3` has methods of the same names, which return their results later.
  if (!Array.isArray(rows))
    throw new TypeError('sqliteStore: database must be synchronous, as node:sqlite, better-sqlite3 and libsql are');
  const [row] = rows;
  if (Number(row?.timeout ?? 0) < BUSY_TIMEOUT_MS) database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
}

/**
 * Lets readers read while one connection writes; an in-memory database stays as it is. SQLite does not wait for others
 * that switch at the same time, whatever the busy timeout, so this function does.
 */
function enableWriteAhead(database: SqliteDatabase): void {
  const deadline = Date.now() + BUSY_TIMEOUT_MS;
  while (Date.now() < deadline) {
    try {
      readRows(database.prepare('PRAGMA journal_mode = WAL'));
      return;
    } catch {
      // Only the next attempt shows whether it can succeed; the last one throws the reason.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
  readRows(database.prepare('PRAGMA journal_mode = WAL'));
}

/**
 * The oldest version whose releases may use the tables of the newest one, too: they find all that they read, and what they
 * write does no harm. Raise it with a migration that they must not meet.
 */
const COMPATIBLE_SINCE = 7;

interface SchemaRow {
  readonly version: number;
  /** Absent in the tables of earlier releases. */
  readonly compatible_since?: number | null;
}

function migrateSqlite(database: SqliteDatabase): void {
  database.exec('CREATE TABLE IF NOT EXISTS open_responses_schema (version INTEGER NOT NULL)');
  const [row] = readRows<SchemaRow>(database.prepare('SELECT * FROM open_responses_schema'));
  const version = Number(row?.version ?? 0);
  if (Number(row?.compatible_since ?? version) > MIGRATIONS.length)
    throw new Error(
      `sqliteStore: the tables have version ${version}, made by a newer release; this one knows ${MIGRATIONS.length}`,
    );
  if (version >= MIGRATIONS.length) return;
  for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
  if (row?.compatible_since === undefined) {
    database.exec('DROP TABLE open_responses_schema');
    database.exec('CREATE TABLE open_responses_schema (version INTEGER NOT NULL, compatible_since INTEGER)');
  }
  database.exec('DELETE FROM open_responses_schema');
  const add = database.prepare('INSERT INTO open_responses_schema (version, compatible_since) VALUES (?, ?)');
  add.run(MIGRATIONS.length, COMPATIBLE_SINCE);
}
