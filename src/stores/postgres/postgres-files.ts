/** Keeps uploaded files in PostgreSQL, for any number of processes. */

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
import { warnOnce } from '../../ports/host/warner.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { readPieces, writePieces } from '../files/file-pieces.ts';
import { HOUR_MS } from '../store-parts.ts';
import { FileRows } from './file-rows.ts';
import {
  inTransaction,
  isPool,
  isPrefix,
  migratePostgres,
  type PostgresPool,
  type PostgresTables,
  postgresTables,
} from './schema.ts';

/** The database and the store's settings; `undefined` means the default. */
export interface PostgresFilesOptions {
  /** A pool of the package `pg`; it may be that of `postgresStore`. The host listens to its `error` events and ends it. */
  readonly pool: PostgresPool;
  /** The prefix of every table's name, as for `postgresStore`. Default: `open_responses_`. */
  readonly tablePrefix?: string | undefined;
  /** How long an upload may receive no data before it counts as left over from a crash, in ms. Default: an hour. */
  readonly staleMs?: number | undefined;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * Keeps files in pieces of 256 KiB, each of which is one statement. Quotas are exact over all processes. Throws a
 * `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { filesRouter, postgresFiles } from 'express-open-responses/files';
 * import { Pool } from 'pg';
 *
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 * const router = filesRouter({ files: postgresFiles({ pool }) });
 * ```
 */
export function postgresFiles(options: PostgresFilesOptions): FileStore {
  checkOptions('postgresFiles', options, {
    pool: isPool,
    tablePrefix: isPrefix,
    staleMs: milliseconds,
    now: isFunction,
  });
  if (options.pool === undefined) throw new TypeError('postgresFiles: pool is missing, got undefined');
  return new PostgresFiles(options);
}

class PostgresFiles implements FileStore {
  readonly name = 'postgres';
  private readonly pool: PostgresPool;
  private readonly tables: PostgresTables;
  private readonly staleMs: number;
  private readonly now: () => number;
  private ready: Promise<FileRows> | undefined;

  constructor({ pool, tablePrefix = 'open_responses_', staleMs = HOUR_MS, now = Date.now }: PostgresFilesOptions) {
    this.pool = pool;
    this.tables = postgresTables(tablePrefix);
    this.staleMs = staleMs;
    this.now = now;
  }

  async put(upload: FileUpload): Promise<StoredFile> {
    const rows = await this.rows();
    // What cannot be removed now waits for the next upload.
    await rows.sweep(this.now(), this.now() - this.staleMs).catch((error) => {
      warnOnce('postgresFiles: sweep', `postgresFiles: expired files cannot be removed: ${String(error)}`);
    });
    const number = await rows.begin(upload, this.now());
    try {
      const bytes = await writePieces(upload.content, (place, piece) =>
        rows.addPiece(number, place, piece, this.now()),
      );
      return await this.finish(upload, number, bytes);
    } catch (error) {
      await rows.remove(number);
      throw error;
    }
  }

  private async finish(upload: FileUpload, number: string, bytes: number): Promise<StoredFile> {
    const outcome = await inTransaction(this.pool, async (client): Promise<Outcome> => {
      const rows = new FileRows(client, this.tables);
      await rows.lock(upload.scope);
      const usage = await rows.usage(upload.scope, this.now());
      let file: StoredFile;
      try {
        file = toStoredFile(upload, bytes, usage);
      } catch (refusal) {
        // Returned and thrown later: an error within the transaction closes its connection, and any client can cause this one.
        return { refusal };
      }
      await rows.finish(number, file);
      return { file };
    });
    if (outcome.file) return outcome.file;
    throw outcome.refusal;
  }

  async get(key: ResponseKey): Promise<StoredFile | undefined> {
    return (await (await this.rows()).find(key, this.now()))?.file;
  }

  async read(key: ResponseKey, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | undefined> {
    const rows = await this.rows();
    const found = await rows.find(key, this.now());
    if (!found) return undefined;
    const { number, file } = found;
    return readPieces((place) => rows.piece(number, place), range ?? { start: 0, end: file.bytes });
  }

  async list(scope: string, query: FilePageQuery): Promise<FilePage> {
    return (await this.rows()).list(scope, query, this.now());
  }

  async delete(key: ResponseKey): Promise<boolean> {
    return (await this.rows()).delete(key, this.now());
  }

  async usage(scope: string): Promise<FileUsage> {
    return (await this.rows()).usage(scope, this.now());
  }

  /** Waits until the tables exist. */
  private rows(): Promise<FileRows> {
    this.ready ??= migratePostgres(this.pool, this.tables).then(
      () => new FileRows(this.pool, this.tables),
      (error) => {
        // So that the next caller tries again.
        this.ready = undefined;
        throw error;
      },
    );
    return this.ready;
  }
}

interface Outcome {
  readonly file?: StoredFile;
  readonly refusal?: unknown;
}
