/** Responses in SQLite: one row each, whose body is the whole response as JSON. */
import { markMeasured, type ResponseKey, type StoredResponse, storedVersion } from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import { readRows, runStatement, type SqliteDatabase } from './database.ts';

interface Row {
  readonly body: string;
}

interface ChainRow extends Row {
  /** Of this row and those before it. */
  readonly bytes: number | bigint;
}

/** The queries and changes of the store; the caller provides times and transactions. */
export interface SqliteResponses {
  get(key: ResponseKey, now: number): StoredResponse | undefined;
  put(response: StoredResponse, expiresAt: number): void;
  replace(response: StoredResponse, version: number, now: number, expiresAt: number): boolean;
  delete(key: ResponseKey, now: number): boolean;
  chain(key: ResponseKey, limit: number, now: number, maxBytes?: number): readonly StoredResponse[];
  /** Removes a few expired responses. */
  sweep(now: number): void;
}

/** Prepares the statements. */
export function sqliteResponses(database: SqliteDatabase): SqliteResponses {
  const select = database.prepare('SELECT body FROM open_responses WHERE scope = ? AND id = ? AND expires_at > ?');
  const upsert = database.prepare(
    `INSERT INTO open_responses (scope, id, previous_id, version, expires_at, body) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (scope, id) DO UPDATE SET previous_id = excluded.previous_id, version = excluded.version,
       expires_at = excluded.expires_at, body = excluded.body`,
  );
  const update = database.prepare(
    `UPDATE open_responses SET previous_id = ?, version = ?, expires_at = ?, body = ?
     WHERE scope = ? AND id = ? AND expires_at > ? AND version = ?`,
  );
  const remove = database.prepare('DELETE FROM open_responses WHERE scope = ? AND id = ? AND expires_at > ?');
  // Ends with the first row that is too much, and reads none behind it.
  const ancestors = database.prepare(
    `WITH RECURSIVE chain (depth, previous_id, body, bytes) AS (
       SELECT 1, previous_id, body, length(CAST(body AS BLOB))
       FROM open_responses WHERE scope = ? AND id = ? AND expires_at > ?
       UNION ALL
       SELECT depth + 1, ancestor.previous_id, ancestor.body, bytes + length(CAST(ancestor.body AS BLOB))
       FROM chain JOIN open_responses ancestor
         ON ancestor.scope = ? AND ancestor.id = chain.previous_id AND ancestor.expires_at > ?
       WHERE depth < ? AND bytes <= ?
     ) SELECT body, bytes FROM chain ORDER BY depth`,
  );
  const sweep = database.prepare(
    'DELETE FROM open_responses WHERE rowid IN (SELECT rowid FROM open_responses WHERE expires_at <= ? LIMIT 10)',
  );

  function find(key: ResponseKey, now: number): Row | undefined {
    return readRows<Row>(select, ...keyColumns(key), now)[0];
  }

  function chain(key: ResponseKey, limit: number, now: number, maxBytes = Number.POSITIVE_INFINITY) {
    const [scope, id] = keyColumns(key);
    const bound = Math.min(maxBytes, Number.MAX_SAFE_INTEGER);
    const rows = readRows<ChainRow>(ancestors, scope, id, now, scope, now, limit, bound);
    if (Number(rows.at(-1)?.bytes ?? 0) > maxBytes) throw tooManyBytes(maxBytes);
    return markMeasured(rows.map(parseResponseRow), maxBytes);
  }

  return {
    get(key, now) {
      const row = find(key, now);
      return row && parseResponseRow(row);
    },
    put(response, expiresAt) {
      upsert.run(...keyColumns(response), ...responseValues(response, expiresAt));
    },
    replace: (response, version, now, expiresAt) =>
      runStatement(update, ...responseValues(response, expiresAt), ...keyColumns(response), now, version),
    delete: (key, now) => runStatement(remove, ...keyColumns(key), now),
    chain,
    sweep: (now) => void sweep.run(now),
  };
}

function responseValues(response: StoredResponse, expiresAt: number) {
  const previous = response.previousId === undefined ? null : JSON.stringify(response.previousId);
  return [previous, storedVersion(response), expiresAt, JSON.stringify(response)] as const;
}

/**
 * Scope and id as JSON strings: escaped, because some drivers change lone surrogates and NULs into other text, or crash
 * the process.
 */
export function keyColumns({ scope, id }: ResponseKey): readonly [scope: string, id: string] {
  return [JSON.stringify(scope), JSON.stringify(id)];
}

function parseResponseRow({ body }: Row): StoredResponse {
  // The cast: only `put` writes these texts.
  return JSON.parse(body) as StoredResponse;
}
