/** Keeps uploaded files in an SQLite database, for any number of processes of one machine; they survive restarts. */

import { setImmediate as breathe } from 'node:timers/promises';
import {
  type ByteRange,
  type FilePage,
  type FilePageQuery,
  type FileStore,
  type FileUpload,
  type FileUsage,
  type StoredFile,
  toStoredFile,
} from '../../ports/files/file-store.ts';
import { checkOptions, isFunction, milliseconds } from '../../ports/host/options-check.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { readPieces, writePieces } from '../files/file-pieces.ts';
import { HOUR_MS } from '../store-parts.ts';
import { inTransaction, isSqliteDatabase, type SqliteDatabase, setUpSqlite } from './database.ts';
import { FileRows } from './file-rows.ts';

/** The database and the store's settings; `undefined` means the default. */
export interface SqliteFilesOptions {
  /** An open connection of node:sqlite, better-sqlite3 or libsql; it may be that of `sqliteStore`. The host closes it. */
  readonly database: SqliteDatabase;
  /** How long an upload may receive no data before it counts as left over from a crash, in ms. Default: an hour. */
  readonly staleMs?: number | undefined;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * Keeps files in pieces of 256 KiB, each of which is one write, so that neither memory nor other requests wait for a whole
 * file. Quotas are exact over all processes. The file of the database does not shrink: the room of deleted files is used again.
 * Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { filesRouter, sqliteFiles } from 'express-open-responses/files';
 * import Database from 'libsql';
 *
 * const router = filesRouter({ files: sqliteFiles({ database: new Database('files.db') }) });
 * ```
 */
export function sqliteFiles(options: SqliteFilesOptions): FileStore {
  checkOptions('sqliteFiles', options, {
    database: isSqliteDatabase,
    staleMs: milliseconds,
    now: isFunction,
  });
  if (options.database === undefined) throw new TypeError('sqliteFiles: database is missing, got undefined');
  return new SqliteFiles(options);
}

class SqliteFiles implements FileStore {
  readonly name = 'sqlite';
  private readonly database: SqliteDatabase;
  private readonly staleMs: number;
  private readonly now: () => number;
  private made: FileRows | undefined;

  constructor({ database, staleMs = HOUR_MS, now = Date.now }: SqliteFilesOptions) {
    this.database = database;
    this.staleMs = staleMs;
    this.now = now;
  }

  async put(upload: FileUpload): Promise<StoredFile> {
    await this.sweep();
    const number = this.change((rows, now) => rows.begin(upload, now));
    try {
      const bytes = await writePieces(upload.content, (place, piece) =>
        this.change((rows, now) => rows.addPiece(number, place, piece, now)),
      );
      return this.change((rows, now) => {
        const file = toStoredFile(upload, bytes, rows.usage(upload.scope, now));
        rows.finish(number, file, now);
        return file;
      });
    } catch (error) {
      await this.purge(number);
      throw error;
    }
  }

  get(key: ResponseKey): StoredFile | undefined {
    return this.rows.find(key, this.now())?.file;
  }

  read(key: ResponseKey, range?: ByteRange): AsyncIterable<Uint8Array> | undefined {
    const found = this.rows.find(key, this.now());
    if (!found) return undefined;
    const { number, file } = found;
    return readPieces((place) => this.rows.piece(number, place), range ?? { start: 0, end: file.bytes });
  }

  list(scope: string, query: FilePageQuery): FilePage {
    return this.rows.list(scope, query, this.now());
  }

  async delete(key: ResponseKey): Promise<boolean> {
    const number = this.change((rows, now) => {
      const found = rows.find(key, now);
      return found && rows.hide(found.number, now) ? found.number : undefined;
    });
    if (number !== undefined) await this.purge(number);
    return number !== undefined;
  }

  usage(scope: string): FileUsage {
    return this.rows.usage(scope, this.now());
  }

  private get rows(): FileRows {
    if (!this.made) {
      setUpSqlite(this.database);
      this.made = new FileRows(this.database);
    }
    return this.made;
  }

  private change<Result>(body: (rows: FileRows, now: number) => Result): Result {
    const { rows } = this;
    return inTransaction(this.database, () => body(rows, this.now()));
  }

  private async sweep(): Promise<void> {
    const now = this.now();
    for (const number of this.rows.leftOver(now, now - this.staleMs)) await this.purge(number);
  }

  /** Hides the file first: an upload that continues after all must not complete without its first pieces. */
  private async purge(number: number): Promise<void> {
    this.change((rows, now) => rows.hide(number, now));
    // Other requests run in between: a large file has thousands of pieces.
    while (!this.change((rows) => rows.purge(number))) await breathe();
  }
}
