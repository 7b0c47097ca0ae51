/** Deletes rows that expired, a few at a time, so that nobody has to run a job for it. */
import type { PostgresPlace } from './responses.ts';

/** One in so many calls sweeps; more rows go than can have come in between. */
const CALLS_PER_SWEEP = 20;
const ROWS_PER_SWEEP = 100;

/** A function to call with every put: the first call sweeps, and every twentieth after it. */
export function sweeper({ queries, tables, now }: PostgresPlace): () => Promise<void> {
  const statements = [tables.responses, tables.conversations].map(deleteExpired);
  let calls = 0;

  return async function sweep(): Promise<void> {
    calls += 1;
    if (calls % CALLS_PER_SWEEP !== 1) return;
    for (const statement of statements) await queries.query(statement, [now()]);
  };
}

/** SKIP LOCKED: processes that sweep at the same time do not wait for each other. */
function deleteExpired(table: string): string {
  return `
    DELETE FROM ${table} WHERE (scope, id) IN (
      SELECT scope, id FROM ${table} WHERE expires_at <= $1 ORDER BY expires_at
      LIMIT ${ROWS_PER_SWEEP} FOR UPDATE SKIP LOCKED
    )`;
}
