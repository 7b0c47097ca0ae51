/** Concurrent requests of two clients on two nodes over one PostgreSQL. */
import { Pool } from 'pg';
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts';
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { raceSuite } from './races.ts';

describePostgres('two nodes on one PostgreSQL', () => {
  raceSuite('PostgreSQL', async () => {
    const server = await startPostgres();
    const connect = () => new Pool({ connectionString: server.url }).on('error', () => {});
    const [one, other] = [connect(), connect()];
    return {
      stores: [postgresStore({ pool: one }), postgresStore({ pool: other })],
      async close() {
        await Promise.all([one.end(), other.end()]);
        await server.close();
      },
    };
  });
});
