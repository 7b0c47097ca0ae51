/** Opens the database that all processes share, as a store and as an engine. */
import type { BackgroundEngine, ResponseStore } from 'express-open-responses';
import { bullmqEngine } from 'express-open-responses/engines/bullmq';
import { postgresStore } from 'express-open-responses/stores/postgres';
import { redisStore } from 'express-open-responses/stores/redis';
import pg from 'pg';
import { createClient } from 'redis';
import type { Settings } from './settings.ts';

/** What a router needs to share responses with other processes. */
export interface SharedDatabase {
  readonly store: ResponseStore;
  readonly engine: BackgroundEngine;
  /** Ends the connections. */
  close(): void | Promise<void>;
}

/** How long a connection, and one answer of PostgreSQL, may take, in milliseconds. */
const PATIENCE_MS = 5000;

/** Opens PostgreSQL or Redis, as the URL says; rejects if it cannot be reached. */
export function openDatabase({
  databaseURL,
  lockMs,
}: Pick<Settings, 'databaseURL' | 'lockMs'>): Promise<SharedDatabase> {
  return databaseURL.startsWith('redis') ? openRedis(databaseURL, lockMs) : openPostgres(databaseURL, lockMs);
}

async function openPostgres(connectionString: string, lockMs: number): Promise<SharedDatabase> {
  const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: PATIENCE_MS, query_timeout: PATIENCE_MS });
  // Without a listener, the first lost connection would end the process.
  pool.on('error', reportLost);
  const store = postgresStore({ pool });
  await store.setup();
  return { store, engine: bullmqEngine({ pool, lockMs }), close: () => pool.end() };
}

async function openRedis(url: string, lockMs: number): Promise<SharedDatabase> {
  const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: PATIENCE_MS } });
  client.on('error', reportLost);
  await client.connect();
  const store = redisStore({ client });
  await store.setup();
  return { store, engine: bullmqEngine({ connection: client, lockMs }), close: () => client.destroy() };
}

function reportLost(error: Error): void {
  console.error(`The database was lost: ${error.message}`);
}
