/** Opens the store of the command line, with a driver that is installed beside the package or in the user's project. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { optionalPeer } from '../../ports/host/peer.ts';
import type { ResponseStore } from '../../ports/store.ts';
import { toPrintable } from '../../protocol/printable.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { type PostgresPool, postgresStore } from '../../stores/postgres/postgres-store.ts';
import { type NodeRedisClient, redisStore } from '../../stores/redis/redis-store.ts';
import { type SqliteDatabase, sqliteStore } from '../../stores/sqlite/sqlite-store.ts';
import { Failure, printableMessage, usageFailure } from './failure.ts';

/** A store that has answered once. */
interface OpenStore {
  readonly store: ResponseStore;
  close(): unknown;
}

/** How long a connection, and one answer, may take, in milliseconds. */
const PATIENCE_MS = 5000;

/** Memory if no store is given. Throws a `Failure` if the store cannot be reached; `warn` receives later outages. */
export async function openStore(place: string | undefined, warn: (line: string) => void): Promise<OpenStore> {
  if (place === undefined) return { store: memoryStore(), close() {} };
  // Only the scheme is quoted: the rest may hold a password.
  const scheme = /^([a-z][a-z\d+.-]+):\/\//i.exec(place)?.[1]?.toLowerCase();
  const onError = (error: unknown) => warn(`the store: ${printableMessage(error)}`);
  try {
    if (scheme === undefined) return openSqlite(place.replace(/^sqlite:/, ''));
    if (/^rediss?$/.test(scheme)) return await openRedis(place, onError);
    if (/^postgres(ql)?$/.test(scheme)) return await openPostgres(place, onError);
  } catch (error) {
    throw error instanceof Failure
      ? error
      : new Failure(`--store cannot be used: ${printableMessage(error)}`, 1, error);
  }
  throw usageFailure(`--store must be a file, redis://... or postgres://..., got '${toPrintable(scheme)}://...'`);
}

type DatabaseClass = new (file: string) => SqliteDatabase & { close(): void };

function openSqlite(file: string): OpenStore {
  // The casts: the types of Node 20 lack this module, and drivers are loaded at run time.
  const builtIn = process.getBuiltinModule('node:sqlite') as { readonly DatabaseSync: DatabaseClass } | undefined;
  const Database =
    builtIn?.DatabaseSync ?? driver<DatabaseClass>('An SQLite file before Node 22.13', 'better-sqlite3', 'libsql');
  const database = new Database(file);
  const store = sqliteStore({ database });
  store.setup();
  return { store, close: () => database.close() };
}

/** The parts of node-redis and pg that are used. */
interface RedisPackage {
  createClient(options: object): NodeRedisClient & {
    on(event: 'error', listener: (error: unknown) => void): unknown;
    connect(): Promise<unknown>;
    destroy(): void;
  };
}
interface PostgresPackage {
  readonly Pool: new (
    options: object,
  ) => PostgresPool & { on(event: 'error', listener: (error: unknown) => void): unknown; end(): Promise<void> };
}

async function openRedis(url: string, onError: (error: unknown) => void): Promise<OpenStore> {
  let isOpen = false;
  const client = driver<RedisPackage>('A Redis store', 'redis').createClient({
    url,
    // In an outage a request is answered at once, and a connection that died silently is found out.
    disableOfflineQueue: true,
    pingInterval: PATIENCE_MS,
    socket: {
      connectTimeout: PATIENCE_MS,
      socketTimeout: 2 * PATIENCE_MS,
      reconnectStrategy: (retries: number, cause: Error) => (isOpen ? Math.min(100 * (retries + 1), 1000) : cause),
    },
  });
  client.on('error', (error) => isOpen && onError(error));
  await client.connect();
  const store = redisStore({ client });
  await store.setup();
  isOpen = true;
  return { store, close: () => client.destroy() };
}

async function openPostgres(url: string, onError: (error: unknown) => void): Promise<OpenStore> {
  const { Pool } = driver<PostgresPackage>('A PostgreSQL store', 'pg');
  const times = { connectionTimeoutMillis: PATIENCE_MS, query_timeout: PATIENCE_MS, keepAlive: true };
  const pool = new Pool({ connectionString: url, ...times });
  pool.on('error', onError);
  const store = postgresStore({ pool });
  await store.setup();
  return { store, close: () => pool.end() };
}

/** The first of the packages that is installed, in the user's project or beside this package. */
function driver<Package>(what: string, ...names: readonly string[]): Package {
  for (const name of names) {
    const found = requireFromProject(name) ?? optionalPeer<Package>(name);
    // The cast: the package exports it.
    if (found !== undefined) return found as Package;
  }
  const add = `npx -p express-open-responses -p ${names.at(-1)} express-open-responses ...`;
  throw new Failure(`${what} needs the package ${names.join(' or ')}: npm install ${names.at(-1)}, or ${add}`, 1);
}

function requireFromProject(name: string): unknown {
  const require = createRequire(join(process.cwd(), 'package.json'));
  try {
    require.resolve(name);
  } catch {
    return undefined;
  }
  return require(name);
}
