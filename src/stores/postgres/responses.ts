/** Responses in PostgreSQL: one row each, and the sweep of expired rows. */

import { markMeasured, type StoredResponse, storedVersion } from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import { digestBytes, type ResponseMethods } from '../store-parts.ts';
import { firstField, type PostgresQueries, type PostgresTables } from './schema.ts';

/** The context of all kinds of rows in PostgreSQL. */
export interface PostgresPlace {
  /** Runs statements; waits until the tables exist. */
  readonly queries: PostgresQueries;
  readonly tables: PostgresTables;
  readonly ttlMs: number;
  readonly now: () => number;
}

/** Keeps responses, each for `ttlMs` from its put, or until its own `expiresAt`. */
export function postgresResponses({ queries, tables, ttlMs, now }: PostgresPlace): ResponseMethods {
  const sql = responseStatements(tables);

  function valuesOf(response: StoredResponse): unknown[] {
    const { scope, id, previousId, expiresAt = Number.POSITIVE_INFINITY } = response;
    const previous = previousId === undefined ? null : digestBytes(previousId);
    const life = Math.floor(Math.min(now() + ttlMs, expiresAt));
    return [digestBytes(scope), digestBytes(id), previous, life, JSON.stringify(response), storedVersion(response)];
  }

  return {
    async get({ scope, id }) {
      const { rows } = await queries.query(sql.get, [digestBytes(scope), digestBytes(id), now()]);
      return parseResponseRows(rows)[0];
    },
    async put(response) {
      await queries.query(sql.put, valuesOf(response));
    },
    async replace(response, version) {
      return (await queries.query(sql.replace, [...valuesOf(response), now(), version])).rows.length > 0;
    },
    async delete({ scope, id }) {
      return (await queries.query(sql.delete, [digestBytes(scope), digestBytes(id), now()])).rows.length > 0;
    },
    async chain({ scope, id }, limit, maxBytes = Number.MAX_SAFE_INTEGER) {
      const bound = Math.min(maxBytes, Number.MAX_SAFE_INTEGER);
      const { rows } = await queries.query(sql.chain, [digestBytes(scope), digestBytes(id), now(), limit, bound]);
      if (firstField(rows, 'is_too_much') === true) throw tooManyBytes(maxBytes);
      return markMeasured(parseResponseRows(rows), maxBytes);
    },
  };
}

function parseResponseRows(rows: readonly unknown[]): readonly StoredResponse[] {
  // The casts: this is the selected column, and only `put` writes it.
  return rows.map((row) => JSON.parse((row as { readonly response: string }).response) as StoredResponse);
}

function responseStatements({ responses }: PostgresTables) {
  return {
    get: `SELECT response FROM ${responses} WHERE scope = $1 AND id = $2 AND expires_at > $3`,
    put: `
      INSERT INTO ${responses} (scope, id, previous_id, expires_at, response, version) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (scope, id) DO UPDATE SET previous_id = excluded.previous_id, expires_at = excluded.expires_at,
        response = excluded.response, version = excluded.version`,
    replace: `
      UPDATE ${responses} SET previous_id = $3, expires_at = $4, response = $5, version = $6
      WHERE scope = $1 AND id = $2 AND expires_at > $7 AND version = $8 RETURNING 1`,
    delete: `DELETE FROM ${responses} WHERE scope = $1 AND id = $2 AND expires_at > $3 RETURNING 1`,
    // LATERAL with LIMIT, so that no planner joins the whole table at each step. The length of a large text is known
    // without reading it, so a chain that is too long ends early, and is not sent.
    chain: `
      WITH RECURSIVE chain (depth, previous_id, response, bytes) AS (
        SELECT 1, previous_id, response, octet_length(response)::bigint
        FROM ${responses} WHERE scope = $1 AND id = $2 AND expires_at > $3
        UNION ALL
        SELECT depth + 1, ancestor.previous_id, ancestor.response, bytes + octet_length(ancestor.response)
        FROM chain CROSS JOIN LATERAL (
          SELECT previous_id, response FROM ${responses}
          WHERE scope = $1 AND id = chain.previous_id AND expires_at > $3 LIMIT 1
        ) ancestor
        WHERE depth < $4 AND bytes <= $5
      ), total (is_too_much) AS (SELECT max(bytes) > $5 FROM chain)
      SELECT is_too_much, CASE WHEN NOT is_too_much THEN response END AS response
      FROM chain CROSS JOIN total ORDER BY depth LIMIT $4`,
  };
}

/** One call in so many sweeps; it deletes more rows than can have been added in between. */
const CALLS_PER_SWEEP = 20;
const ROWS_PER_SWEEP = 100;
/** Fewer, because each takes the rows of its events with it. */
const LOGS_PER_SWEEP = 25;

/** Returns a function to call with every put: the first call sweeps, and every twentieth after it. */
export function sweeper({ queries, tables, now }: PostgresPlace): () => Promise<void> {
  const statements = [
    deleteExpired(tables.responses, ROWS_PER_SWEEP),
    deleteExpired(tables.conversations, ROWS_PER_SWEEP),
    deleteExpired(tables.logs, LOGS_PER_SWEEP),
  ];
  let calls = 0;

  return async function sweep(): Promise<void> {
    calls += 1;
    if (calls % CALLS_PER_SWEEP !== 1) return;
    for (const statement of statements) await queries.query(statement, [now()]);
  };
}

/** SKIP LOCKED: concurrent sweeps do not wait for each other. */
function deleteExpired(table: string, limit: number): string {
  return `
    DELETE FROM ${table} WHERE (scope, id) IN (
      SELECT scope, id FROM ${table} WHERE expires_at <= $1 ORDER BY expires_at
      LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )`;
}
