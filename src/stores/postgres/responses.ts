/** Responses in PostgreSQL: one row each. */
import { hash } from 'node:crypto';
import type { ResponseStore, StoredResponse } from '../../ports/store.ts';
import type { PostgresQueries, PostgresTables } from './schema.ts';

/** What both kinds of things in PostgreSQL are kept with. */
export interface PostgresPlace {
  /** Where statements go; waits until the tables are there. */
  readonly queries: PostgresQueries;
  readonly tables: PostgresTables;
  readonly ttlMs: number;
  readonly now: () => number;
}

/** The methods of a store that are about responses. */
export type ResponseMethods = Required<Pick<ResponseStore, 'get' | 'put' | 'delete' | 'chain'>>;

/** Keeps responses, each for `ttlMs` from when it was put, or until its own `expiresAt`. */
export function postgresResponses({ queries, tables, ttlMs, now }: PostgresPlace): ResponseMethods {
  const sql = statements(tables);

  return {
    async get({ scope, id }) {
      const { rows } = await queries.query(sql.get, [digestOf(scope), digestOf(id), now()]);
      return responsesFrom(rows)[0];
    },
    async put(response) {
      const { scope, id, previousId } = response;
      const previous = previousId === undefined ? null : digestOf(previousId);
      const expiresAt = Math.floor(Math.min(now() + ttlMs, response.expiresAt ?? Infinity));
      await queries.query(sql.put, [digestOf(scope), digestOf(id), previous, expiresAt, JSON.stringify(response)]);
    },
    async delete({ scope, id }) {
      return (await queries.query(sql.delete, [digestOf(scope), digestOf(id), now()])).rows.length > 0;
    },
    async chain({ scope, id }, limit) {
      const { rows } = await queries.query(sql.chain, [digestOf(scope), digestOf(id), now(), limit]);
      return responsesFrom(rows);
    },
  };
}

/** A digest of the text; JSON keeps half surrogate pairs apart, which UTF-8 does not. */
export function digestOf(text: string): Uint8Array {
  return hash('sha256', JSON.stringify(text), 'buffer');
}

function responsesFrom(rows: readonly unknown[]): readonly StoredResponse[] {
  // The casts: this is the column that is asked for, and only `put` writes it.
  return rows.map((row) => JSON.parse((row as { readonly response: string }).response) as StoredResponse);
}

function statements({ responses }: PostgresTables) {
  return {
    get: `SELECT response FROM ${responses} WHERE scope = $1 AND id = $2 AND expires_at > $3`,
    put: `
      INSERT INTO ${responses} (scope, id, previous_id, expires_at, response) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (scope, id) DO UPDATE SET
        previous_id = excluded.previous_id, expires_at = excluded.expires_at, response = excluded.response`,
    delete: `DELETE FROM ${responses} WHERE scope = $1 AND id = $2 AND expires_at > $3 RETURNING 1`,
    // LATERAL with LIMIT, so that no planner joins the whole table at each step.
    chain: `
      WITH RECURSIVE chain (depth, previous_id, response) AS (
        SELECT 1, previous_id, response FROM ${responses} WHERE scope = $1 AND id = $2 AND expires_at > $3
        UNION ALL
        SELECT depth + 1, ancestor.previous_id, ancestor.response FROM chain CROSS JOIN LATERAL (
          SELECT previous_id, response FROM ${responses}
          WHERE scope = $1 AND id = chain.previous_id AND expires_at > $3 LIMIT 1
        ) ancestor
        WHERE depth < $4
      )
      SELECT response FROM chain ORDER BY depth LIMIT $4`,
  };
}
