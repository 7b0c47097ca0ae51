/** Opens the store that the setting STORE names; its driver is loaded only when it is needed. */
import { memoryStore, type ResponseStore } from 'express-open-responses';
import type { SqliteDatabase } from 'express-open-responses/stores/sqlite';

/** A store that is ready, and a function that closes it. */
export interface OpenStore {
  readonly store: ResponseStore;
  /** Ends the store's connections. */
  close(): void | Promise<void>;
}

/** How long a connection, and one answer, may take, in milliseconds. */
const PATIENCE_MS = 5000;

/** Opens `memory`, `sqlite:FILE`, a `redis:` or a `postgres:` URL; rejects if it cannot be reached. */
export async function openStore(setting: string, onError: (error: Error) => void): Promise<OpenStore> {
  const scheme = setting.split(':')[0] ?? '';
  if (scheme === 'sqlite') return openSqlite(setting.slice('sqlite:'.length));
  if (scheme.startsWith('redis')) return openRedis(setting, onError);
  if (scheme.startsWith('postgres')) return openPostgres(setting, onError);
  return { store: memoryStore(), close() {} };
}

async function openRedis(url: string, onError: (error: Error) => void): Promise<OpenStore> {
  const { createClient } = await driver('redis', () => import('redis'));
  const { redisStore } = await import('express-open-responses/stores/redis');
  let reached = false;
  const client = createClient({
    url,
    // During an outage a request fails immediately, instead of waiting for the server.
    disableOfflineQueue: true,
    // Detects a connection that was lost silently.
    pingInterval: PATIENCE_MS,
    socket: {
      connectTimeout: PATIENCE_MS,
      socketTimeout: 2 * PATIENCE_MS,
      // At the start the first failure is final; later it retries until the server is back.
      reconnectStrategy: (retries, cause) =>
        reached
          ? Math.min(100 * (retries + 1), 1000)
          : new Error(`STORE cannot be reached: ${cause.message}`, { cause }),
    },
  });
  // Without a listener, the first lost connection would end the process.
  client.on('error', onError);
  await client.connect();
  reached = true;
  const store = redisStore({ client });
  await setUp(store, () => client.destroy());
  return { store, close: () => client.destroy() };
}

async function openPostgres(url: string, onError: (error: Error) => void): Promise<OpenStore> {
  const { default: pg } = await driver('pg', () => import('pg'));
  const { postgresStore } = await import('express-open-responses/stores/postgres');
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
    keepAlive: true,
  });
  // Without a listener, the first lost connection would end the process.
  pool.on('error', onError);
  const store = postgresStore({ pool });
  await setUp(store, () => pool.end());
  return { store, close: () => pool.end() };
}

async function openSqlite(file: string): Promise<OpenStore> {
  const Database = await sqliteDriver();
  const { sqliteStore } = await import('express-open-responses/stores/sqlite');
  const database = new Database(file);
  const store = sqliteStore({ database });
  store.setup();
  return { store, close: () => database.close() };
}

/** Prepares the store. Rejects if it cannot be used, and then closes its connections. */
async function setUp(store: { setup(): Promise<void> }, release: () => void | Promise<void>): Promise<void> {
  try {
    await store.setup();
  } catch (cause) {
    await release();
    // The cast: stores reject with errors.
    throw new Error(`STORE cannot be used: ${(cause as Error).message}`, { cause });
  }
}

type DatabaseClass = new (file: string) => SqliteDatabase & { close(): void };

/** Node's own, from Node 22.13 on; else that of a package. */
async function sqliteDriver(): Promise<DatabaseClass> {
  // The casts: Node 20's types do not know the module, and the package's do not match its methods exactly.
  const builtIn = process.getBuiltinModule('node:sqlite') as { readonly DatabaseSync: DatabaseClass } | undefined;
  if (builtIn) return builtIn.DatabaseSync;
  const { default: Database } = await driver('libsql', () => import('libsql'));
  return Database as unknown as DatabaseClass;
}

/** Loads the package; throws an error that says how to install it if it is missing. */
async function driver<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    throw new Error(`This STORE needs the package ${name}: npm install ${name}`, { cause });
  }
}
