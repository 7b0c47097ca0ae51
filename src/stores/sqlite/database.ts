/** What the SQLite store needs of a driver: the few methods that node:sqlite, better-sqlite3 and libsql share. */
import { isRecord } from '../../protocol/record.ts';

/** What is written into a statement: JSON as text, and times. */
export type SqliteValue = string | number | bigint | null;

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  all(...values: SqliteValue[]): unknown[];
}

/** An open connection of a driver that answers at once. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** Whether the value looks like a connection. */
export function isSqliteDatabase(value: unknown): boolean {
  // Their methods are inherited, and may be those of an async driver: `checkAnswered` tells.
  return isRecord(value) && typeof value.exec === 'function' && typeof value.prepare === 'function';
}

/** Throws where the driver is one such as `sqlite3`, which has methods of the same names that answer later. */
export function checkAnswered(rows: unknown): void {
  if (Array.isArray(rows)) return;
  throw new TypeError('sqliteStore: database must answer at once, as node:sqlite, better-sqlite3 and libsql do');
}

/** Runs the body as one change, which other connections see whole or not at all. */
export function inTransaction<Result>(database: SqliteDatabase, body: () => Result): Result {
  // Not a deferred one: it fails at its first write, without waiting, where another connection wrote since its first read.
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = body();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // SQLite has rolled back already, as it does when the disk is full; what is worth telling is why.
  }
}

/** The rows of a query, whose columns the caller names. */
export function rowsOf<Row>(statement: SqliteStatement, ...values: SqliteValue[]): readonly Row[] {
  // The cast: the statement's own text says which columns it has. `all` and not `get`, which may leave it half read.
  return statement.all(...values) as Row[];
}

/** Whether the statement changed any row. */
export function changes(statement: SqliteStatement, ...values: SqliteValue[]): boolean {
  return Number(statement.run(...values).changes) > 0;
}
