/**
 * The stores that the bench measures, by name: each function opens one with what it needs, and returns a way to close it. Its optional
 * argument is called for each round trip: a command, or a call of a method if no network is used.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const require = createRequire(import.meta.url);

/** @type {Readonly<Record<string, (asked?: () => void) => Promise<{ store: import('../../dist/cjs/ports/store.js').ResponseStore, close(): unknown }>>>} */
export const openers = {
  memory: async (asked) => ({ store: counted(await memory(), METHODS, asked), close() {} }),
  'sqlite-libsql': (asked) => openSqlite((file) => new (require('libsql'))(file), asked),
  'sqlite-node': (asked) => openSqlite((file) => new (require('node:sqlite').DatabaseSync)(file), asked),
  'encrypted-memory': async () => ({ store: await encrypted(await memory()), close() {} }),
  redis: openRedis,
  postgres: openPostgres,
};

const METHODS = ['get', 'put', 'delete', 'chain'];

/** The same object, which calls `asked` before each of these methods. */
function counted(object, methods, asked) {
  if (!asked) return object;
  return new Proxy(object, {
    get(target, key) {
      const value = target[key];
      if (typeof value !== 'function') return value;
      return (...given) => {
        if (methods.includes(key)) asked();
        return value.apply(target, given);
      };
    },
  });
}

async function memory() {
  return (await import('../../dist/esm/index.js')).memoryStore();
}

function from(name) {
  return import(`../../dist/esm/stores/${name}/${name}-store.js`);
}

async function encrypted(store) {
  const { encryptedStore } = await from('encrypted');
  return encryptedStore(store, { keys: [{ id: 'bench', key: randomBytes(32) }] });
}

async function openSqlite(open, asked) {
  const { sqliteStore } = await from('sqlite');
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  const database = open(join(folder, 'responses.db'));
  const close = async () => {
    database.close();
    await rm(folder, { recursive: true });
  };
  // Its statements run in this process: calls of the store's methods are counted.
  return { store: counted(sqliteStore({ database }), METHODS, asked), close };
}

async function openRedis(asked) {
  const server = await startDatabase('redis');
  const { createClient } = await import('redis');
  const client = await createClient({ url: server.url }).connect();
  const { redisStore } = await from('redis');
  const close = async () => {
    client.destroy();
    await server.close();
  };
  return { store: redisStore({ client: counted(client, ['eval', 'evalSha'], asked) }), close };
}

async function openPostgres(asked) {
  const server = await startDatabase('postgres');
  const { default: pg } = await import('pg');
  // The server closes connections that the pool has just released.
  const pool = new pg.Pool({ connectionString: server.url }).on('error', () => {});
  const { postgresStore } = await from('postgres');
  const close = async () => {
    await pool.end();
    await server.close();
  };
  return { store: postgresStore({ pool: counted(pool, ['query'], asked) }), close };
}

/** Starts the server of one of these stores, durably. Throws if it is not installed. */
export async function startDatabase(name) {
  if (name === 'redis') return (await support('redis-server')).startRedis({ durable: true });
  return (await support('postgres-server')).startPostgres({ durable: true });
}

/** The servers of the tests: TypeScript modules that check for a test runner when they are imported. */
async function support(name) {
  globalThis.describe ??= Object.assign(() => {}, { skip() {} });
  await import('../../test/support/memory-hooks.mjs');
  return import(`../../test/support/${name}.ts`);
}
