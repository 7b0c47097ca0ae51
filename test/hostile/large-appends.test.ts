/** One append, to every store, of more items than a client or a database accepts arguments. */
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import { memoryStore, type ResponseStore } from '../../src/index.ts';
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts';
import { redisStore } from '../../src/stores/redis/redis-store.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { describeDrivers } from '../stores/sqlite-drivers.ts';
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import type { Service } from '../support/services.ts';
import { tally } from './tally.ts';

const ITEMS = 120_000;
const { tried } = tally('large appends');
const items = Array.from({ length: ITEMS }, (_, index) => ({ type: 'message', id: `msg_${index}` }));
const key = { scope: 's', id: 'conv_1' };

/** Appends them twice, and reads both ends, an item in the middle and the whole. */
async function expectKept({ name, conversations }: ResponseStore): Promise<void> {
  if (!conversations) throw new Error(`${name} has no conversations.`);
  await conversations.put({ ...key, createdAt: 0, metadata: {} });
  const more = items.map(({ type, id }) => ({ type, id: `${id}_more` }));
  const added = [await conversations.append(key, items), await conversations.append(key, more)];
  const page = async (order: 'asc' | 'desc', after?: string) =>
    (await conversations.page?.(key, { limit: 1, order, after }))?.items[0]?.id;
  expect([
    added,
    (await conversations.items(key)).length,
    await page('asc'),
    await page('asc', 'msg_110000'),
    await page('desc'),
    (await conversations.find?.(key, ['msg_75000', 'none']))?.map(({ id }) => id),
  ]).toEqual([[true, true], 2 * ITEMS, 'msg_0', 'msg_110001', `msg_${ITEMS - 1}_more`, ['msg_75000']]);
  expect([await conversations.removeItem(key, 'msg_110001'), await page('asc', 'msg_110000')]).toEqual([
    true,
    'msg_110002',
  ]);
  await conversations.delete(key);
  tried(`an append of ${ITEMS} items to ${name}`, 2);
}

it('[F-19] are kept by the memory store', () => expectKept(memoryStore()));

describeDrivers((open) => {
  it('[F-19] are kept by SQLite', async () => {
    const database = open(':memory:');
    await expectKept(sqliteStore({ database }));
    database.close();
  });
});

describeRedis('in Redis', () => {
  let server: Service;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.close());

  it('[F-19] are kept with node-redis', async () => {
    const client = await createClient({ url: server.url }).connect();
    await expectKept(redisStore({ client }));
    client.destroy();
  });

  it('[F-19] are kept with ioredis', async () => {
    const client = new Redis(server.url);
    await expectKept(redisStore({ client }));
    client.disconnect();
  });
});

describePostgres('in PostgreSQL', () => {
  it('[F-19] are kept', async () => {
    const server = await startPostgres();
    const pool = new Pool({ connectionString: server.url }).on('error', () => {});
    await expectKept(postgresStore({ pool }));
    await pool.end();
    await server.close();
  });
});
