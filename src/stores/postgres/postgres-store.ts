/** Keeps responses, conversations and event logs in PostgreSQL, for any number of processes. */

import type { EventLog } from '../../ports/background/event-log.ts';
import { checkOptions, type OptionCheck, positiveInteger } from '../../ports/host/options-check.ts';
import type { StoredResponse } from '../../ports/store.ts';
import { MONTH_MS, type ResponseMethods } from '../store-parts.ts';
import { type ConversationMethods, postgresConversations } from './conversations.ts';
import { postgresEvents } from './events.ts';
import { postgresResponses, sweeper } from './responses.ts';
import {
  firstField,
  isPool,
  isPrefix,
  migratePostgres,
  POOL,
  type PostgresPool,
  type PostgresQueries,
  postgresTables,
} from './schema.ts';

export type { PostgresClient, PostgresPool, PostgresQueries } from './schema.ts';

/** The options of a PostgreSQL store; `undefined` means the default. */
export interface PostgresStoreOptions {
  /** A pool of the package `pg`. The host listens to its `error` events and ends it. */
  readonly pool: PostgresPool;
  /** The prefix of every table's name; `open_responses_` by default. */
  readonly tablePrefix?: string | undefined;
  /** How long a response is kept after it was put, in milliseconds; 30 days by default. */
  readonly ttlMs?: number | undefined;
  /** The clock, in milliseconds since the epoch; `Date.now` by default. */
  readonly now?: (() => number) | undefined;
}

/** A store over PostgreSQL. */
export interface PostgresStore extends ResponseMethods {
  /** The kind of store, `postgres`. */
  readonly name: string;
  /** The conversations, with every optional method. */
  readonly conversations: ConversationMethods;
  /** The events of responses that outlive their requests. */
  readonly events: EventLog;
  /** The time by the database's clock, in milliseconds since the epoch. */
  time(): Promise<number>;
  /** Creates or upgrades the tables. Other methods do so on first use; call this to fail at the start instead. */
  setup(): Promise<void>;
  /** Does nothing, because the host ends the pool. */
  close(): void;
}

/**
 * Keeps responses in tables that it creates. Expired rows are never returned, and later puts delete them. Throws a
 * `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { postgresStore } from 'express-open-responses/stores/postgres';
 * import { Pool } from 'pg';
 *
 * const store = postgresStore({ pool: new Pool({ connectionString: process.env.DATABASE_URL }) });
 * await store.setup();
 * const router = responsesRouter({ store });
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  checkOptions('postgresStore', options, CHECKS);
  const { pool, tablePrefix = 'open_responses_', ttlMs = MONTH_MS, now = Date.now } = options;
  if (pool === undefined) throw new TypeError(`postgresStore: pool must be ${POOL}, got undefined`);
  const tables = postgresTables(tablePrefix);
  let ready: Promise<void> | undefined;

  function setup(): Promise<void> {
    ready ??= migratePostgres(pool, tables).catch((error) => {
      // So that the next caller tries again.
      ready = undefined;
      throw error;
    });
    return ready;
  }

  const queries: PostgresQueries = {
    async query(text, values) {
      await setup();
      return pool.query(text, values);
    },
  };
  const place = { queries, tables, ttlMs, now };
  const responses = postgresResponses(place);
  const sweep = sweeper(place);

  async function put(response: StoredResponse): Promise<void> {
    await responses.put(response);
    // The response is stored; expired rows can wait for another put.
    await sweep().catch(() => {});
  }

  return {
    ...responses,
    name: 'postgres',
    put,
    conversations: postgresConversations(place),
    events: postgresEvents(place),
    async time() {
      const { rows } = await queries.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
      return Number(firstField(rows, 'now'));
    },
    setup,
    close() {},
  };
}

const CHECKS: Readonly<Record<string, OptionCheck>> = {
  pool: isPool,
  tablePrefix: isPrefix,
  ttlMs: positiveInteger,
  now: (value) => typeof value === 'function' || 'a function',
};
