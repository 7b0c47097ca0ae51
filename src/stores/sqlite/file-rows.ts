/** Uploaded files in SQLite: one row for each, and one for each piece of its bytes. */
import type { FilePage, FilePageQuery, FileUsage, StoredFile } from '../../ports/files/file-store.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { prepareStatements, readRows, runStatement, type SqliteDatabase } from './database.ts';
import { keyColumns } from './responses.ts';

interface NumberRow {
  readonly number: number;
}

interface FileRow extends NumberRow {
  readonly body: string;
}

/** A file and where its pieces are. */
interface FoundFile {
  readonly number: number;
  readonly file: StoredFile;
}

/** The most pieces that are removed in one transaction, so that no other connection waits for long. */
const PIECES_AT_ONCE = 16;

/** The statements on the tables of files; the caller provides times and transactions. */
export class FileRows {
  private readonly statements: ReturnType<typeof prepareFileRows>;

  constructor(database: SqliteDatabase) {
    this.statements = prepareFileRows(database);
  }

  /** Creates a file that no reader finds yet. */
  begin(key: ResponseKey, now: number): number {
    const [row] = readRows<NumberRow>(this.statements.begin, ...keyColumns(key), now, now);
    return Number(row?.number);
  }

  addPiece(number: number, place: number, data: Buffer, now: number): void {
    // If another process removed the upload as left over, it must not be stored in part.
    if (!runStatement(this.statements.touch, now, number))
      throw new Error('sqliteFiles: the upload had no data for longer than staleMs');
    this.statements.addPiece.run(number, place, data);
  }

  /** From here on, readers find the file. */
  finish(number: number, file: StoredFile, now: number): void {
    const { createdAt, expiresAt = null, purpose, bytes } = file;
    const columns = [createdAt, expiresAt, purpose, bytes, JSON.stringify(file), now] as const;
    if (!runStatement(this.statements.finish, ...columns, number))
      throw new Error('sqliteFiles: the upload had no data for longer than staleMs');
  }

  find(key: ResponseKey, now: number): FoundFile | undefined {
    const [row] = readRows<FileRow>(this.statements.find, ...keyColumns(key), now);
    return row && { number: Number(row.number), file: parseStoredFile(row) };
  }

  /** Undefined if the file was deleted. */
  piece(number: number, place: number): Uint8Array | undefined {
    const [row] = readRows<{ readonly data: Uint8Array | ArrayBuffer }>(this.statements.piece, number, place);
    // libsql returns the buffer alone.
    return row && (ArrayBuffer.isView(row.data) ? row.data : new Uint8Array(row.data));
  }

  list(scope: string, { limit, order, purpose, after }: FilePageQuery, now: number): FilePage {
    const cursor = after === undefined ? undefined : this.find({ scope, id: after }, now)?.file;
    if (after !== undefined && !cursor) return { files: [], hasMore: false, unknown: true };
    const [scopeColumn, idColumn] = keyColumns({ scope, id: cursor?.id ?? '' });
    const place = cursor ? [cursor.createdAt, idColumn] : [null, null];
    const statement = order === 'asc' ? this.statements.pageUp : this.statements.pageDown;
    // One more row than requested shows whether others follow.
    const values = [scopeColumn, now, purpose ?? null, purpose ?? null, place[0] ?? null, place[0] ?? null] as const;
    const rows = readRows<FileRow>(statement, ...values, place[1] ?? null, limit + 1);
    return { files: rows.slice(0, limit).map(parseStoredFile), hasMore: rows.length > limit };
  }

  usage(scope: string, now: number): FileUsage {
    const [column] = keyColumns({ scope, id: '' });
    const [row] = readRows<FileUsage>(this.statements.usage, column, now);
    return { files: Number(row?.files ?? 0), bytes: Number(row?.bytes ?? 0) };
  }

  /** Hides the file at once; its pieces are removed by `purge`. */
  hide(number: number, now: number): boolean {
    return runStatement(this.statements.hide, now, number);
  }

  /** Removes some pieces of a file, and its row with the last ones; returns whether nothing is left. */
  purge(number: number): boolean {
    if (runStatement(this.statements.removePieces, number, number, PIECES_AT_ONCE)) return false;
    this.statements.remove.run(number);
    return true;
  }

  /** Some of the files that have expired or were deleted, and uploads that have received no data since `staleBefore`. */
  leftOver(now: number, staleBefore: number): readonly number[] {
    const rows = [
      ...readRows<NumberRow>(this.statements.expired, now),
      ...readRows<NumberRow>(this.statements.unfinished, staleBefore),
    ];
    return rows.map(({ number }) => Number(number));
  }
}

function prepareFileRows(database: SqliteDatabase) {
  const table = 'open_responses_files';
  const pieces = 'open_responses_file_pieces';
  const isThere = "state = 'whole' AND (expires_at IS NULL OR expires_at > ?)";
  const page = (order: 'ASC' | 'DESC', beyond: '>' | '<') => `SELECT number, body FROM ${table}
    WHERE scope = ? AND ${isThere} AND (? IS NULL OR purpose = ?)
      AND (? IS NULL OR (created_at, id) ${beyond} (?, ?))
    ORDER BY created_at ${order}, id ${order} LIMIT ?`;
  return prepareStatements(database, {
    begin: `INSERT INTO ${table} (scope, id, state, touched_at, created_at, bytes) VALUES (?, ?, 'open', ?, ?, 0)
       RETURNING number`,
    touch: `UPDATE ${table} SET touched_at = ? WHERE number = ? AND state = 'open'`,
    addPiece: `INSERT INTO ${pieces} (file, place, data) VALUES (?, ?, ?)`,
    finish: `UPDATE ${table} SET created_at = ?, expires_at = ?, purpose = ?, bytes = ?, body = ?, touched_at = ?,
         state = 'whole' WHERE number = ? AND state = 'open'`,
    find: `SELECT number, body FROM ${table} WHERE scope = ? AND id = ? AND ${isThere}`,
    piece: `SELECT data FROM ${pieces} WHERE file = ? AND place = ?`,
    pageUp: page('ASC', '>'),
    pageDown: page('DESC', '<'),
    usage: `SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM ${table} WHERE scope = ? AND ${isThere}`,
    hide: `UPDATE ${table} SET state = 'gone', touched_at = ? WHERE number = ? AND state <> 'gone'`,
    removePieces: `DELETE FROM ${pieces} WHERE file = ? AND place IN
         (SELECT place FROM ${pieces} WHERE file = ? ORDER BY place LIMIT ?)`,
    remove: `DELETE FROM ${table} WHERE number = ?`,
    expired: `SELECT number FROM ${table} WHERE expires_at <= ? LIMIT 8`,
    unfinished: `SELECT number FROM ${table} WHERE state <> 'whole' AND touched_at <= ? LIMIT 8`,
  });
}

function parseStoredFile({ body }: FileRow): StoredFile {
  // The cast: only `finish` writes these texts.
  return JSON.parse(body) as StoredFile;
}
