/** Sessions on PostgreSQL. */
import type { PostgresConnectionOptions } from 'bullmq';
import { isRecord } from '../../../protocol/record.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import {
  assertSchemaCompatibility,
  createPostgresBackend,
  LATEST_SCHEMA_VERSION,
  Queue,
  runMigrations,
  SchemaMigrationRequiredError,
  Worker,
} from './bullmq.ts';
import {
  closeQuietly,
  type Link,
  type Opening,
  type QueueSettings,
  queueOptions,
  type Session,
  workerOptions,
} from './session.ts';

/** The part of a pool of the package `pg` that the engine uses. */
export interface BullmqPool {
  /** What the pool was created with: the engine creates a small pool of its own from it. */
  readonly options: object;
  /** Runs one statement. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  /** Checks a connection out. */
  connect(): Promise<unknown>;
  /** Ends the pool. The engine ends its own pool alone. */
  end(): Promise<unknown>;
}

/** A pool that the engine created. */
interface OwnPool {
  // biome-ignore lint/suspicious/noExplicitAny: BullMQ's type of a pool has it.
  query(text: string, values?: unknown[]): Promise<{ readonly rows: any[] }>;
  connect(): Promise<OwnClient>;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect', listener: (client: Pick<OwnPool, 'on'>) => void): unknown;
}

type OwnClient = Pick<OwnPool, 'query'> & { release(destroy?: boolean): void };

/** Where BullMQ's tables are. Its statements name them without it, so it has to be the search path. */
const SCHEMA = 'bullmq';
/** One of them listens for new jobs. */
const CONNECTIONS = 4;
const INSUFFICIENT_PRIVILEGE = '42501';
const DEADLOCK = '40P01';
/** How often a statement is sent that PostgreSQL undoes to end a deadlock. */
const MOST_DEADLOCKS = 5;

/** Sessions over pools of the engine's own, with the class and the options of the host's. */
export function postgresLink(host: BullmqPool, settings: QueueSettings): Link {
  return { open: (opening) => openPostgres(host, settings, opening), explain: explainPostgres };
}

async function openPostgres(host: BullmqPool, settings: QueueSettings, opening: Opening): Promise<Session> {
  const pool = createOwnPool(host);
  pool.on('error', opening.onError);
  // A connection in use reports its end only here, and an error event without a listener would end the process.
  pool.on('connect', (client) => client.on('error', opening.onError));
  try {
    await untilAborted(opening.signal, () => migrateQueue(pool));
    return await openPostgresSession(pool, settings, opening);
  } catch (error) {
    await closeQuietly(() => pool.end());
    throw explainPostgres(error);
  }
}

function createOwnPool(host: BullmqPool): OwnPool {
  // The casts: a pool of the package pg, or of one with the same shape; its password is not enumerable.
  const Pool = host.constructor as new (options: object) => OwnPool;
  const { password, options: startup } = host.options as { readonly password?: unknown; readonly options?: unknown };
  const searchPath = `-c search_path=${SCHEMA}`;
  return new (withoutDeadlocks(Pool))({
    ...host.options,
    ...(password === undefined ? {} : { password }),
    options: typeof startup === 'string' ? `${startup} ${searchPath}` : searchPath,
    max: CONNECTIONS,
    min: 0,
    // Without it, a listening connection that was cut off silently would wait for ever.
    keepAlive: true,
  });
}

/** BullMQ's statements are transactions of their own: one that was undone has changed nothing, and may be sent again. */
function withoutDeadlocks(Pool: new (options: object) => OwnPool): new (options: object) => OwnPool {
  return class extends Pool {
    override async query(text: string, values?: unknown[]) {
      for (let count = 1; ; count += 1) {
        try {
          return await super.query(text, values);
        } catch (error) {
          if (!isRecord(error) || error.code !== DEADLOCK || count === MOST_DEADLOCKS) throw error;
        }
      }
    }
  };
}

async function openPostgresSession(pool: OwnPool, settings: QueueSettings, opening: Opening): Promise<Session> {
  const { queueName } = settings;
  const { onError, signal } = opening;
  // The cast: a pool of the package pg, or one of the same shape.
  const connection = pool as unknown as PostgresConnectionOptions;
  const queue = new Queue(queueName, { ...queueOptions(settings), connection }, createPostgresBackend);
  const worker = new Worker(queueName, null, { ...workerOptions(settings), connection }, createPostgresBackend);
  queue.on('error', onError);
  worker.on('error', onError);
  async function now(): Promise<number> {
    const { rows } = await pool.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
    return Number(rows[0].now);
  }

  async function close(): Promise<void> {
    await closeQuietly(
      () => worker.close(true),
      () => queue.close(),
    );
    await closeQuietly(() => pool.end());
  }

  try {
    await untilAborted(signal, () => Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]));
    return { queue, worker, close, now };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Creates or upgrades BullMQ's tables, under its own lock. A user without the right to needs it only if they are missing. */
async function migrateQueue(pool: OwnPool): Promise<void> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    const { rows } = await client.query('SHOW search_path');
    const path = String(rows[0].search_path);
    if (path !== SCHEMA)
      throw new Error(
        `bullmqEngine: the search path of its connections is '${path}' and not '${SCHEMA}'. If the connection string of the ` +
          'pool has `options`, give them to the pool as its option `options`; a pooler in between must pass them on.',
      );
    if (!(await isCurrent(client))) await runMigrations(client, SCHEMA).catch(explainDenied(client));
    isBroken = false;
  } finally {
    client.release(isBroken);
  }
}

async function isCurrent(client: OwnClient): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(client, SCHEMA)) >= LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof SchemaMigrationRequiredError) return false;
    throw error;
  }
}

function explainDenied(client: OwnClient): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!isRecord(error) || error.code !== INSUFFICIENT_PRIVILEGE) throw error;
    const { rows } = await client.query(
      'SELECT quote_ident(current_user) AS user, quote_ident(current_database()) AS database',
    );
    const { user, database } = rows[0];
    throw new Error(
      `bullmqEngine: the user ${user} may not create BullMQ's tables in PostgreSQL. Either run GRANT CREATE ON DATABASE ` +
        `${database} TO ${user}, or start the engine once with a pool of a user that may, and then run ${grantsFor(user)}`,
      { cause: error },
    );
  };
}

function explainPostgres(error: unknown): unknown {
  if (!isRecord(error) || error.code !== INSUFFICIENT_PRIVILEGE) return error;
  return new Error(
    `bullmqEngine: the user of the pool may not use BullMQ's tables in PostgreSQL. As their owner, run ${grantsFor('<user>')}`,
    { cause: error },
  );
}

function grantsFor(user: string): string {
  return (
    `GRANT USAGE ON SCHEMA ${SCHEMA} TO ${user}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${SCHEMA} ` +
    `TO ${user}; GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${SCHEMA} TO ${user}`
  );
}
