/** The driver methods that the SQLite store needs: those that node:sqlite, better-sqlite3 and libsql share. */
import { isRecord } from '../../protocol/record.ts';

/** The values of a statement: JSON as text, and times. */
export type SqliteValue = string | number | bigint | null;

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint };
  all(...values: SqliteValue[]): unknown[];
}

/** An open connection of a synchronous driver. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** Whether the value looks like a connection. */
export function isSqliteDatabase(value: unknown): boolean {
  // Their methods are inherited, and may be those of an async driver, which `checkAnswered` detects.
  return isRecord(value) && typeof value.exec === 'function' && typeof value.prepare === 'function';
}

/** Throws for a driver such as `sqlite3`, whose methods have the same names and return their results later. */
export function checkAnswered(rows: unknown): void {
  if (Array.isArray(rows)) return;
  throw new TypeError('sqliteStore: database must answer at once, as node:sqlite, better-sqlite3 and libsql do');
}

/** Runs the body as one transaction, which other connections see whole or not at all. */
export function inTransaction<Result>(database: SqliteDatabase, body: () => Result): Result {
  // Not deferred: a deferred one fails at once at its first write if another connection wrote since its first read.
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
    // SQLite has already rolled back, as it does when the disk is full; the original error is the useful one.
  }
}

/** The rows of a query, whose columns the caller names. */
export function rowsOf<Row>(statement: SqliteStatement, ...values: SqliteValue[]): readonly Row[] {
  // The cast: the statement's own text names its columns. `all` instead of `get`, which may leave it half read.
  return statement.all(...values) as Row[];
}

/** Whether the statement changed any row. */
export function changes(statement: SqliteStatement, ...values: SqliteValue[]): boolean {
  return Number(statement.run(...values).changes) > 0;
}
