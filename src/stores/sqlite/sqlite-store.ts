/** Keeps responses, conversations and event logs in an SQLite database, for any number of processes of one machine; they survive restarts. */

import type { EventLog } from '../../ports/background/event-log.ts';
import { checkOptions, positiveInteger } from '../../ports/host/options-check.ts';
import type { ConversationStore, ResponseKey, ResponseStore, StoredResponse } from '../../ports/store.ts';
import { MONTH_MS } from '../store-parts.ts';
import { SqliteConversations } from './conversations.ts';
import { inTransaction, isSqliteDatabase, type SqliteDatabase, setUpSqlite } from './database.ts';
import { SqliteEvents } from './events.ts';
import { type SqliteResponses, sqliteResponses } from './responses.ts';

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './database.ts';

/** The database of the store and how long it keeps data; `undefined` means the default. */
export interface SqliteStoreOptions {
  /** An open connection of node:sqlite, better-sqlite3 or libsql, for this store alone. The host closes it. */
  readonly database: SqliteDatabase;
  /** How long a response is kept after its put, a conversation after its last change, in ms; 30 days by default. */
  readonly ttlMs?: number | undefined;
  /** The clock, in milliseconds since the epoch; `Date.now` by default. */
  readonly now?: (() => number) | undefined;
}

/** A store with synchronous methods. */
export interface SqliteStore extends ResponseStore {
  /** Prepares the connection and creates or upgrades the tables. The first use does so too; call this to fail at the start. */
  setup(): void;
  replace(response: StoredResponse, version: number): boolean;
  chain(key: ResponseKey, limit: number, maxBytes?: number): readonly StoredResponse[];
  readonly conversations: ConversationStore;
  readonly events: EventLog;
}

/** The statements on the tables, once they exist. */
interface Tables {
  readonly responses: SqliteResponses;
  readonly conversations: SqliteConversations;
  readonly events: SqliteEvents;
}

/**
 * Keeps responses, conversations and event logs in the database. When `put` returns, the data is on the disk and survives a crash of
 * the process or the machine. `close` leaves the connection open. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { sqliteStore } from 'express-open-responses/stores/sqlite';
 * import Database from 'libsql';
 *
 * const router = responsesRouter({ store: sqliteStore({ database: new Database('responses.db') }) });
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions): SqliteStore {
  checkOptions('sqliteStore', options, {
    database: isSqliteDatabase,
    ttlMs: positiveInteger,
    now: (value) => typeof value === 'function' || 'a function',
  });
  if (options.database === undefined) throw new TypeError('sqliteStore: database is missing, got undefined');
  const { database, ttlMs = MONTH_MS, now = Date.now } = options;
  let made: Tables | undefined;

  function tables(): Tables {
    made ??= openTables(database);
    return made;
  }

  /** One transaction, so that it waits for the disk once; it also removes expired rows. */
  function change<Result>(body: (tables: Tables, time: number) => Result): Result {
    const all = tables();
    return inTransaction(database, () => {
      const time = now();
      for (const table of Object.values(all)) table.sweep(time);
      return body(all, time);
    });
  }

  function responseExpiry({ expiresAt = Number.POSITIVE_INFINITY }: StoredResponse, time: number): number {
    return Math.min(time + ttlMs, expiresAt);
  }

  return {
    name: 'sqlite',
    setup: () => void tables(),
    get: (key) => tables().responses.get(key, now()),
    put: (response) => change(({ responses }, time) => responses.put(response, responseExpiry(response, time))),
    replace: (response, version) =>
      change(({ responses }, time) => responses.replace(response, version, time, responseExpiry(response, time))),
    delete: (key) => tables().responses.delete(key, now()),
    chain: (key, limit, maxBytes) => tables().responses.chain(key, limit, now(), maxBytes),
    conversations: {
      get: (key) => tables().conversations.get(key, now()),
      put: (conversation) => change(({ conversations }, time) => conversations.put(conversation, time, time + ttlMs)),
      update: (conversation) =>
        change(({ conversations }, time) => conversations.update(conversation, time, time + ttlMs)),
      delete: (key) => change(({ conversations }, time) => conversations.delete(key, time)),
      append: (key, items, terms) =>
        change(({ conversations }, time) =>
          conversations.append(key, items, { ...terms, now: time, expiresAt: time + ttlMs }),
        ),
      items: (key, maxBytes) => tables().conversations.items(key, now(), maxBytes),
      page: (key, query) => tables().conversations.page(key, query, now()),
      find: (key, itemIds) => tables().conversations.find(key, itemIds, now()),
      removeItem: (key, itemId) => change(({ conversations }, time) => conversations.removeItem(key, itemId, time)),
    },
    events: sqliteEventLog(change, () => tables().events, now),
    close() {},
  };
}

type Change = <Result>(body: (tables: Tables, time: number) => Result) => Result;

function sqliteEventLog(change: Change, table: () => SqliteEvents, now: () => number): EventLog {
  return {
    isShared: true,
    begin: (key, log) => change(({ events }) => events.begin(key, log)),
    append: (key, append) => change(({ events }, time) => events.append(key, append, time)),
    claim: (key, epoch) => change(({ events }, time) => events.claim(key, epoch, time)),
    end: (key, epoch, until) => change(({ events }, time) => events.end(key, epoch, until, time)),
    read: (key, after, maxBytes) => table().read(key, after, maxBytes, now()),
    heads: (keys) => table().heads(keys, now()),
    delete: (key) => change(({ events }, time) => events.delete(key, time)),
  };
}

function openTables(database: SqliteDatabase): Tables {
  setUpSqlite(database);
  return {
    responses: sqliteResponses(database),
    conversations: new SqliteConversations(database),
    events: new SqliteEvents(database),
  };
}
