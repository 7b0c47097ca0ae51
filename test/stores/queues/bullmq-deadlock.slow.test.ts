/** Deadlocks of PostgreSQL: the database ends one by undoing a statement, which may be the engine's. */
import type { Pool, PoolClient } from 'pg';
import pg from 'pg';
import { bullmqEngine } from '../../../src/stores/queues/bullmq/bullmq-engine.ts';
import { gate } from '../../support/gate.ts';
import { describePostgres, startPostgres } from '../../support/postgres-server.ts';
import type { Service } from '../../support/services.ts';

describePostgres('bullmqEngine in a deadlock', () => {
  let server: Service;
  let pool: Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url }).on('error', () => {});
  });
  afterAll(async () => {
    await pool?.end();
    await server?.close();
  });

  it('sends the statement again that PostgreSQL undid, so that no lock of a running response is lost', async () => {
    const engine = bullmqEngine({ pool, queueName: 'deadlock', concurrency: 2, lockMs: 3000 });
    const errors: unknown[] = [];
    const goOn = gate();
    const running = [gate(), gate()];
    const ended = [gate(), gate()];
    let count = 0;
    engine.start({
      async run({ signal }) {
        const index = count;
        count += 1;
        running[index]?.open();
        await goOn.opened;
        errors.push(...(signal.aborted ? [signal.reason] : []));
        ended[index]?.open();
        return 'ended';
      },
      onError: (error) => errors.push(error),
    });
    for (const id of ['resp_1', 'resp_2']) await engine.submit({ scope: 'tenant', id });
    await Promise.all(running.map(({ opened }) => opened));

    await deadlockARenewal(pool);

    goOn.open();
    await Promise.all(ended.map(({ opened }) => opened));
    await engine.close();
    expect(errors).toEqual([]);
    expect(count).toBe(2);
  });
});

/** Holds one job's row until a renewal waits for it, and asks for the other's, until PostgreSQL has undone the renewal. */
async function deadlockARenewal(pool: Pool): Promise<void> {
  const { rows } = await pool.query('SELECT id FROM bullmq.job ORDER BY id');
  const ids: string[] = rows.map(({ id }) => id);
  const client = await pool.connect();
  try {
    for (;;) {
      for (const [held, wanted] of [ids, [...ids].reverse()])
        if (await isRenewalUndone(client, String(held), String(wanted))) return;
    }
  } finally {
    client.release();
  }
}

async function isRenewalUndone(client: PoolClient, held: string, wanted: string): Promise<boolean> {
  const lock = (id: string, terms = '') =>
    client.query(`SELECT id FROM bullmq.job WHERE id = $1 FOR UPDATE ${terms}`, [id]).then(
      () => true,
      () => false,
    );
  await client.query('BEGIN');
  // The engine's statement looks for a deadlock after one second, and is undone if it finds one.
  await client.query(`SET LOCAL deadlock_timeout = '10s'`);
  await lock(held);
  while (!(await isWaitedFor(client))) await client.query('SELECT pg_sleep(0.01)');
  await client.query('SAVEPOINT before');
  // The renewal may have come to this row first: then it holds nothing, and there is no deadlock.
  const isFree = await lock(wanted, 'NOWAIT');
  if (!isFree) await client.query('ROLLBACK TO before');
  const isUndone = !isFree && (await lock(wanted));
  await client.query('ROLLBACK');
  return isUndone;
}

async function isWaitedFor(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query(`SELECT 1 FROM pg_locks WHERE NOT granted`);
  return rows.length > 0;
}
