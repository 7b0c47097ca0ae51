/** Stored chat completions over Redis and PostgreSQL. */
import { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { postgresStore } from '../../../src/stores/postgres/postgres-store.ts';
import { redisStore } from '../../../src/stores/redis/redis-store.ts';
import { describePostgres, postgresPerSuite } from '../../support/postgres-server.ts';
import { describeRedis, startRedis } from '../../support/redis-server.ts';
import { openPerSuite } from '../../support/suite-resources.ts';
import { storedCases } from './stored-cases.ts';

describeRedis('stored chat completions in Redis', () => {
  let client: Redis;
  let count = 0;
  openPerSuite(async (closeLater) => {
    const server = await startRedis();
    closeLater(server.close);
    client = new Redis(server.url);
    closeLater(() => client.disconnect());
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
