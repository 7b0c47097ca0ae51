/** The measured stores, each with the number of bytes that it takes. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDatabase } from '../stores/openers.mjs';

const require = createRequire(import.meta.url);
const ROOM = { maxResponses: 200_000, maxBytes: 2 ** 32 };

/** By name; each function opens a store, and returns it with functions that measure and close it. */
export const STORES = {
  async memory() {
    const { memoryStore } = await import('../../dist/esm/index.js');
    const bytes = async () => {
      for (let round = 0; round < 3; round += 1) globalThis.gc();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    return { store: memoryStore(ROOM), bytes, close() {} };
  },
  async SQLite() {
    const { sqliteStore } = await import('../../dist/esm/stores/sqlite/sqlite-store.js');
    const folder = mkdtempSync(join(tmpdir(), 'sizing-'));
    const database = new (require('libsql'))(join(folder, 'responses.db'));
    const sizes = () => readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    const close = () => {
      database.close();
      rmSync(folder, { recursive: true });
    };
    // While the store is filled, commits need not reach the disk; it is measured with its own setting.
    const hurry = (isFilling) => database.exec(`PRAGMA synchronous = ${isFilling ? 'OFF' : 'FULL'}`);
    return {
      store: sqliteStore({ database }),
      hurry,
      bytes: async () => sizes().reduce((sum, size) => sum + size, 0),
      close,
    };
  },
  async Redis() {
    const { redisStore } = await import('../../dist/esm/stores/redis/redis-store.js');
    const { createClient } = await import('redis');
    const server = await startDatabase('redis');
    const client = await createClient({ url: server.url }).connect();
    const bytes = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
    const close = async () => {
      client.destroy();
      await server.close();
    };
    return { store: redisStore({ client }), bytes, close };
  },
  async PostgreSQL() {
    const { postgresStore } = await import('../../dist/esm/stores/postgres/postgres-store.js');
    const { default: pg } = await import('pg');
    const server = await startDatabase('postgres');
    const pool = new pg.Pool({ connectionString: server.url }).on('error', () => {});
    const bytes = async () =>
      Number((await pool.query('SELECT pg_database_size(current_database()) AS size')).rows[0].size);
    const close = async () => {
      await pool.end();
      await server.close();
    };
    return { store: postgresStore({ pool }), bytes, close };
  },
};

/** A row for each store; one whose server is not on this machine says so. */
export async function rowsOf(names, measure) {
  const rows = [];
  for (const name of names) {
    const open = STORES[name];
    // Shows progress: filling a store takes a while.
    console.error(`${new Date().toLocaleTimeString('en')}: ${name}`);
    try {
      const opened = await open();
      rows.push(...(await measure(opened)).map((row) => [name, ...row]));
      await opened.close();
    } catch (error) {
      rows.push([name, `not measured: ${error.message}`]);
    }
  }
  const width = Math.max(...rows.map(({ length }) => length));
  return rows.map((row) => [...row, ...Array.from({ length: width - row.length }, () => '')]);
}
