/** Uploaded files in PostgreSQL: one row for each, and one for each piece of its bytes. */

import type { FilePage, FilePageQuery, FileUsage, StoredFile } from '../../ports/files/file-store.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { digestBytes } from '../store-parts.ts';
import { firstField, idSortKey, type PostgresQueries, type PostgresTables } from './schema.ts';

/** A file and where its pieces are. */
interface FoundFile {
  readonly number: string;
  readonly file: StoredFile;
}

/** More than one upload adds; each takes its pieces with it. */
const FILES_PER_SWEEP = 4;

/** The statements on the tables of files; the caller provides times and transactions. */
export class FileRows {
  private readonly sql: ReturnType<typeof fileRowStatements>;
  private readonly queries: PostgresQueries;

  constructor(queries: PostgresQueries, tables: PostgresTables) {
    this.queries = queries;
    this.sql = fileRowStatements(tables);
  }

  /** Creates a file that no reader finds yet. */
  async begin({ scope, id }: ResponseKey, now: number): Promise<string> {
    return String(
      firstField(await this.rows(this.sql.begin, digestBytes(scope), digestBytes(id), idSortKey(id), now), 'number'),
    );
  }

  async addPiece(number: string, place: number, data: Buffer, now: number): Promise<void> {
    if ((await this.rows(this.sql.addPiece, number, place, data, now)).length === 0) throw uploadExpired();
  }

  /** From here on, readers find the file. */
  async finish(number: string, file: StoredFile): Promise<void> {
    const { createdAt, expiresAt = null, purpose, bytes } = file;
    const values = [createdAt, expiresAt, JSON.stringify(purpose), bytes, JSON.stringify(file)];
    if ((await this.rows(this.sql.finish, number, ...values)).length === 0) throw uploadExpired();
  }

  async find({ scope, id }: ResponseKey, now: number): Promise<FoundFile | undefined> {
    const rows = await this.rows(this.sql.find, digestBytes(scope), digestBytes(id), now);
    return rows.length === 0 ? undefined : { number: String(firstField(rows, 'number')), file: parseFileRow(rows[0]) };
  }

  /** Undefined if the file was deleted. */
  async piece(number: string, place: number): Promise<Uint8Array | undefined> {
    // The cast: the column holds bytes.
    return firstField(await this.rows(this.sql.piece, number, place), 'data') as Uint8Array | undefined;
  }

  async list(scope: string, { limit, order, purpose, after }: FilePageQuery, now: number): Promise<FilePage> {
    const cursor = after === undefined ? undefined : (await this.find({ scope, id: after }, now))?.file;
    if (after !== undefined && !cursor) return { files: [], hasMore: false, unknown: true };
    const only = purpose === undefined ? null : JSON.stringify(purpose);
    const place = cursor ? [cursor.createdAt, idSortKey(cursor.id)] : [null, null];
    // One more row than requested shows whether others follow.
    const values = [digestBytes(scope), now, only, ...place, limit + 1];
    const rows = await this.rows(order === 'asc' ? this.sql.pageUp : this.sql.pageDown, ...values);
    return { files: rows.slice(0, limit).map(parseFileRow), hasMore: rows.length > limit };
  }

  async usage(scope: string, now: number): Promise<FileUsage> {
    const rows = await this.rows(this.sql.usage, digestBytes(scope), now);
    return { files: Number(firstField(rows, 'files')), bytes: Number(firstField(rows, 'bytes')) };
  }

  /** Makes other uploads of the tenant wait until the transaction ends. */
  async lock(scope: string): Promise<void> {
    await this.rows('SELECT pg_advisory_xact_lock($1)', Buffer.from(digestBytes(scope)).readInt32BE());
  }

  async delete({ scope, id }: ResponseKey, now: number): Promise<boolean> {
    return (await this.rows(this.sql.delete, digestBytes(scope), digestBytes(id), now)).length > 0;
  }

  async remove(number: string): Promise<void> {
    await this.rows(this.sql.remove, number);
  }

  /** Removes some of the expired files, and of the uploads that have received no data since `staleBefore`. */
  async sweep(now: number, staleBefore: number): Promise<void> {
    await this.rows(this.sql.sweep, now, staleBefore);
  }

  private async rows(text: string, ...values: readonly unknown[]): Promise<readonly unknown[]> {
    return (await this.queries.query(text, [...values])).rows;
  }
}

function uploadExpired(): Error {
  return new Error('postgresFiles: the upload had no data for longer than staleMs');
}

function parseFileRow(row: unknown): StoredFile {
  // The cast: only `finish` writes these texts.
  return JSON.parse(String(firstField([row], 'file'))) as StoredFile;
}

function fileRowStatements({ files, filePieces }: PostgresTables) {
  const isThere = (time: string) => `state = 'whole' AND (expires_at IS NULL OR expires_at > ${time})`;
  const page = (order: 'ASC' | 'DESC', beyond: '>' | '<') => `
    SELECT file FROM ${files}
    WHERE scope = $1 AND ${isThere('$2')} AND ($3::text IS NULL OR purpose = $3)
      AND ($4::bigint IS NULL OR (created_at, place) ${beyond} ($4, $5::bytea))
    ORDER BY created_at ${order}, place ${order} LIMIT $6`;
  return {
    begin: `INSERT INTO ${files} (scope, id, place, state, touched_at) VALUES ($1, $2, $3, 'open', $4) RETURNING number`,
    addPiece: `
      WITH open AS (UPDATE ${files} SET touched_at = $4 WHERE number = $1 AND state = 'open' RETURNING number)
      INSERT INTO ${filePieces} (file, place, data) SELECT number, $2, $3 FROM open RETURNING place`,
    finish: `
      UPDATE ${files} SET state = 'whole', created_at = $2, expires_at = $3, purpose = $4, bytes = $5, file = $6
      WHERE number = $1 AND state = 'open' RETURNING number`,
    find: `SELECT number, file FROM ${files} WHERE scope = $1 AND id = $2 AND ${isThere('$3')}`,
    piece: `SELECT data FROM ${filePieces} WHERE file = $1 AND place = $2`,
    pageUp: page('ASC', '>'),
    pageDown: page('DESC', '<'),
    usage: `
      SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM ${files} WHERE scope = $1 AND ${isThere('$2')}`,
    delete: `DELETE FROM ${files} WHERE scope = $1 AND id = $2 AND ${isThere('$3')} RETURNING number`,
    remove: `DELETE FROM ${files} WHERE number = $1`,
    // Not all at once, which could take longer than a statement may; concurrent sweeps do not wait for each other.
    sweep: `
      DELETE FROM ${files} WHERE number = ANY(ARRAY(
        SELECT number FROM ${files} WHERE expires_at <= $1 OR (state = 'open' AND touched_at <= $2)
        LIMIT ${FILES_PER_SWEEP} FOR UPDATE SKIP LOCKED))`,
  };
}
