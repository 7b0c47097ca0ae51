/** Stored chat completions over Redis and PostgreSQL. */
import { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { postgresStore } from '../../../src/stores/postgres/postgres-store.ts';
import { redisStore } from '../../../src/stores/redis/redis-store.ts';
import { describePostgres, postgresPerSuite } from '../../support/postgres-server.ts';
import { describeRedis, startRedis } from '../../support/redis-server.ts';
import type { Service } from '../../support/services.ts';
import { storedCases } from './stored-cases.ts';

describeRedis('stored chat completions in Redis', () => {
  let server: Service;
  let client: Redis;
  let count = 0;
  beforeAll(async () => {
    server = await startRedis();
    client = new Redis(server.url);
  });
  afterAll(async () => {
    client.disconnect();
    await server.close();
  });
  storedCases(() => redisStore({ client, prefix: `stored-${count++}:` }));
});

describePostgres('stored chat completions in PostgreSQL', () => {
  let pool: Pool;
  let count = 0;
  postgresPerSuite((_, made) => {
    pool = made;
  });
  storedCases(() => postgresStore({ pool, tablePrefix: `stored_${count++}_` }));
});
