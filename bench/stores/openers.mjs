/** The stores that the bench measures, by name: each opens one with what it needs, and says how to be done with it. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const require = createRequire(import.meta.url);

/** @type {Readonly<Record<string, () => Promise<{ store: import('../../dist/core/store.js').ResponseStore, close(): unknown }>>>} */
export const openers = {
  memory: async () => ({ store: (await from('memory')).memoryStore(), close() {} }),
  'sqlite-libsql': () => openSqlite((file) => new (require('libsql'))(file)),
  'sqlite-node': () => openSqlite((file) => new (require('node:sqlite').DatabaseSync)(file)),
  'encrypted-memory': async () => ({ store: await encrypted((await from('memory')).memoryStore()), close() {} }),
  redis: openRedis,
  postgres: openPostgres,
};

function from(name) {
  return import(`../../dist/stores/${name}.js`);
}

async function encrypted(store) {
  const { encryptedStore } = await from('encrypted');
  return encryptedStore(store, { keys: [{ id: 'bench', key: randomBytes(32) }] });
}

async function openSqlite(open) {
  const { sqliteStore } = await from('sqlite');
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  const database = open(join(folder, 'responses.db'));
  const close = async () => {
    database.close();
    await rm(folder, { recursive: true });
  };
  return { store: sqliteStore({ database }), close };
}

async function openRedis() {
  const server = await (await support('redis-server')).startRedis({ durable: true });
  const { createClient } = await import('redis');
  const client = await createClient({ url: server.url }).connect();
  const { redisStore } = await from('redis');
  const close = async () => {
    client.destroy();
    await server.close();
  };
  return { store: redisStore({ client }), close };
}

async function openPostgres() {
  const server = await (await support('postgres-server')).startPostgres({ durable: true });
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString: server.url });
  const { postgresStore } = await from('postgres');
  const close = async () => {
    await pool.end();
    await server.close();
  };
  return { store: postgresStore({ pool }), close };
}

/** The servers of the tests, which are TypeScript and ask at once whether there is a test runner. */
async function support(name) {
  globalThis.describe ??= Object.assign(() => {}, { skip() {} });
  await import('../../test/support/memory-hooks.mjs');
  return import(`../../test/support/${name}.ts`);
}
