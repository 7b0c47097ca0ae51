/** Responses in SQLite: one row for each, whose body is the whole response as JSON. */
import type { ResponseKey, StoredResponse } from '../../ports/store.ts';
import { changes, rowsOf, type SqliteDatabase } from './database.ts';

interface ChainRow {
  readonly depth: number;
  readonly body: string;
}

/** The questions and changes that the store is made of; the caller brings times and transactions. */
export interface SqliteResponses {
  get(key: ResponseKey, now: number): StoredResponse | undefined;
  put(response: StoredResponse, expiresAt: number): void;
  delete(key: ResponseKey, now: number): boolean;
  chain(key: ResponseKey, limit: number, now: number): readonly StoredResponse[];
  /** Removes a few of those that expired. */
  sweep(now: number): void;
}

/** Prepares the statements. */
export function sqliteResponses(database: SqliteDatabase): SqliteResponses {
  const select = database.prepare('SELECT body FROM open_responses WHERE scope = ? AND id = ? AND expires_at > ?');
  const upsert = database.prepare(
    `INSERT INTO open_responses (scope, id, previous_id, expires_at, body) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (scope, id) DO UPDATE SET
       previous_id = excluded.previous_id, expires_at = excluded.expires_at, body = excluded.body`,
  );
  const remove = database.prepare('DELETE FROM open_responses WHERE scope = ? AND id = ? AND expires_at > ?');
  const walk = database.prepare(CHAIN);
  const sweep = database.prepare(
    'DELETE FROM open_responses WHERE rowid IN (SELECT rowid FROM open_responses WHERE expires_at <= ? LIMIT 10)',
  );

  return {
    get(key, now) {
      const [row] = rowsOf<{ readonly body: string }>(select, ...columnsOf(key), now);
      return row && responseFrom(row);
    },
    put(response, expiresAt) {
      const previous = response.previousId === undefined ? null : JSON.stringify(response.previousId);
      upsert.run(...columnsOf(response), previous, expiresAt, JSON.stringify(response));
    },
    delete: (key, now) => changes(remove, ...columnsOf(key), now),
    chain(key, limit, now) {
      const scope = JSON.stringify(key.scope);
      const rows = rowsOf<ChainRow>(walk, ...columnsOf(key), now, limit, scope, now, limit);
      // SQL promises no order without ORDER BY, and would copy every body to keep it.
      return rows.toSorted((one, other) => Number(one.depth) - Number(other.depth)).map(responseFrom);
    },
    sweep: (now) => void sweep.run(now),
  };
}

// Bodies are joined last: what recursion carries along is copied at every step.
const CHAIN = `
  WITH RECURSIVE chain (depth, place, previous_id) AS (
    SELECT 1, rowid, previous_id FROM open_responses WHERE scope = ? AND id = ? AND expires_at > ? AND ? > 0
    UNION ALL
    SELECT chain.depth + 1, parent.rowid, parent.previous_id
    FROM chain CROSS JOIN open_responses AS parent
    WHERE parent.scope = ? AND parent.id = chain.previous_id AND parent.expires_at > ? AND chain.depth < ?
  )
  SELECT chain.depth AS depth, stored.body AS body
  FROM chain CROSS JOIN open_responses AS stored ON stored.rowid = chain.place`;

/**
 * Scope and id as JSON strings: escaped, as half surrogate pairs and NULs end up as other text, or end the process, in
 * some drivers.
 */
export function columnsOf({ scope, id }: ResponseKey): readonly [scope: string, id: string] {
  return [JSON.stringify(scope), JSON.stringify(id)];
}

function responseFrom({ body }: { readonly body: string }): StoredResponse {
  // The cast: only `put` writes these texts.
  return JSON.parse(body) as StoredResponse;
}
