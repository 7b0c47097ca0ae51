/** Deletes expired rows, a few at a time, so that no separate job is needed. */
import type { PostgresPlace } from './responses.ts';

/** One call in so many sweeps; it deletes more rows than can have been added in between. */
const CALLS_PER_SWEEP = 20;
const ROWS_PER_SWEEP = 100;

/** Returns a function to call with every put: the first call sweeps, and every twentieth after it. */
export function sweeper({ queries, tables, now }: PostgresPlace): () => Promise<void> {
  const statements = [tables.responses, tables.conversations].map(deleteExpired);
  let calls = 0;

  return async function sweep(): Promise<void> {
    calls += 1;
    if (calls % CALLS_PER_SWEEP !== 1) return;
    for (const statement of statements) await queries.query(statement, [now()]);
  };
}

/** SKIP LOCKED: concurrent sweeps do not wait for each other. */
function deleteExpired(table: string): string {
  return `
    DELETE FROM ${table} WHERE (scope, id) IN (
      SELECT scope, id FROM ${table} WHERE expires_at <= $1 ORDER BY expires_at
      LIMIT ${ROWS_PER_SWEEP} FOR UPDATE SKIP LOCKED
    )`;
}
