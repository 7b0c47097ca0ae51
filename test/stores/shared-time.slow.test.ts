/** The clocks of the databases that processes share. */
import { Pool } from 'pg';
import { createClient } from 'redis';
import { encryptedStore } from '../../src/stores/encrypted/encrypted-store.ts';
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';

/** The database runs on this machine: its time is between two of ours. */
async function expectOurs(time: (() => unknown) | undefined): Promise<void> {
  const before = Date.now();
  const theirs = Number(await time?.());
  expect([before - 1 <= theirs, theirs <= Date.now() + 1]).toEqual([true, true]);
}

const keys = [{ id: 'a', key: Buffer.alloc(32, 7) }];

describePostgres('PostgreSQL', () => {
  it('[G-13] tells its time, sealed or not', async () => {
    const database = await startPostgres();
    const pool = new Pool({ connectionString: database.url }).on('error', () => {});
    const store = postgresStore({ pool });
    await store.setup();
    await expectOurs(() => store.time());
    await expectOurs(encryptedStore(store, { keys }).time);
    await pool.end();
    await database.close();
  }, 120_000);
});

describeRedis('Redis', () => {
  it('[G-13] tells its time', async () => {
    const database = await startRedis();
    const client = createClient({ url: database.url }).on('error', () => {});
    await client.connect();
    const store = redisStore({ client });
    await store.time();
    await expectOurs(() => store.time());
    await client.close();
    await database.close();
  }, 120_000);
});
