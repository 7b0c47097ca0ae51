/** A PostgreSQL client that is lost while the store uses it. */
import { EventEmitter } from 'node:events';
import { postgresStore } from '../../src/stores/postgres/postgres-store.ts';

/** As a client of pg: what ends its connection is emitted too, and ends the process where nobody listens. */
class LostClient extends EventEmitter {
  released: unknown;

  async query(): Promise<never> {
    const lost = new Error('terminating connection due to administrator command');
    this.emit('error', lost);
    throw lost;
  }

  release(destroy?: boolean): void {
    this.released = destroy;
  }
}

it('fails the request and not the process, when the connection of a migration is lost', async () => {
  const client = new LostClient();
  const store = postgresStore({
    pool: { query: async () => ({ rows: [{ here: false }] }), connect: async () => client },
  });
  await expect(store.setup()).rejects.toThrow('terminating connection');
  expect(client.released).toBe(true);
});
