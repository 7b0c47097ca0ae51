/** The stores with their drivers, encrypted, and a store of the host's own. */
import {
  type ClaimedLog,
  type ConversationStore,
  type EventLog,
  type ItemPage,
  type ItemPageQuery,
  type LogAppend,
  type LogHead,
  type LogPage,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
  type NewEventLog,
  type ResponseKey,
  type ResponseStore,
  responsesRouter,
  type StoredConversation,
  type StoredResponse,
  StoreError,
} from 'express-open-responses';
import {
  type EncryptedStoreOptions,
  type EncryptionKey,
  encryptedStore,
} from 'express-open-responses/stores/encrypted';
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from 'express-open-responses/stores/postgres';
import { type RedisStore, type RedisStoreOptions, redisStore } from 'express-open-responses/stores/redis';
import {
  type SqliteDatabase,
  type SqliteStore,
  type SqliteStoreOptions,
  sqliteStore,
} from 'express-open-responses/stores/sqlite';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createClient, createCluster } from 'redis';

const key: EncryptionKey = { id: 'k', key: new Uint8Array(32) };
const options: EncryptedStoreOptions = { keys: [key] };
const memoryOptions: MemoryStoreOptions = { maxResponses: 1, ttlMs: undefined };
const memory: MemoryStore = memoryStore(memoryOptions);
const redisOptions: RedisStoreOptions = { client: createClient(), prefix: undefined };
const redis: RedisStore = redisStore(redisOptions);
const postgresOptions: PostgresStoreOptions = { pool: new pg.Pool() };
const postgres: PostgresStore = postgresStore(postgresOptions);
declare const database: SqliteDatabase;
const sqliteOptions: SqliteStoreOptions = { database, ttlMs: undefined };
const sqlite: SqliteStore = sqliteStore(sqliteOptions);
redisStore({ client: createCluster({ rootNodes: [] }) });
redisStore({ client: new Redis() });

/** A store that says only what it must. */
const least = {
  name: 'least',
  get: (_: ResponseKey) => undefined,
  put: (_: StoredResponse) => {},
  delete: (_: ResponseKey) => false,
};

/** One whose optional methods may be missing. */
class OwnStore implements ResponseStore {
  readonly name = 'own';
  private readonly kept = new Map<string, StoredResponse>();
  readonly conversations: ConversationStore | undefined = undefined;
  readonly events: EventLog | undefined = undefined;
  chain: ResponseStore['chain'] = undefined;
  close: (() => Promise<void>) | undefined = undefined;
  async get({ scope, id }: ResponseKey): Promise<StoredResponse | undefined> {
    return this.kept.get(JSON.stringify([scope, id]));
  }
  async put(response: StoredResponse): Promise<void> {
    this.kept.set(JSON.stringify([response.scope, response.id]), response);
  }
  async delete({ scope, id }: ResponseKey): Promise<boolean> {
    return this.kept.delete(JSON.stringify([scope, id]));
  }
}

const all: readonly ResponseStore[] = [memory, redis, postgres, sqlite, least, new OwnStore()];
for (const store of all) responsesRouter({ store: encryptedStore(store, options) });
responsesRouter({ store: encryptedStore(memory, options) });
responsesRouter({ store: encryptedStore(redis, options) });
responsesRouter({ store: encryptedStore(postgres, options) });
responsesRouter({ store: encryptedStore(sqlite, options) });
responsesRouter({ store: encryptedStore(least, options) });
responsesRouter({ store: encryptedStore(new OwnStore(), options) });
responsesRouter({
  store: encryptedStore({ ...memory, close: undefined }, { keys: [{ id: 'a', key: 'b'.repeat(44) }] }),
});
responsesRouter({ store: encryptedStore(encryptedStore(memory, options), options) });
export const closed = encryptedStore(sqlite, options).close?.();

export const page = async (store: ConversationStore, at: ResponseKey, query: ItemPageQuery): Promise<ItemPage> => {
  const found: StoredConversation | undefined = await store.get(at);
  if (!found || !store.page) throw new StoreError('too_many_bytes', 'More than one byte.');
  return store.page(at, query);
};

const begun: NewEventLog = { epoch: 1, request: '{}', expiresAt: Date.now() + 60_000 };
const appended: LogAppend = { epoch: 1, from: 0, events: ['{}'], state: '{}', endsUntil: undefined };
export const log = async (events: EventLog, at: ResponseKey): Promise<readonly (LogHead | undefined)[]> => {
  await events.begin(at, begun);
  await events.append(at, appended);
  const read: LogPage | undefined = await events.read(at, -1, 1000);
  const claimed: ClaimedLog | undefined = await events.claim(at, 2);
  return [read, claimed, ...(await events.heads([at]))];
};
export const logs: readonly EventLog[] = [memory.events, redis.events, postgres.events, sqlite.events];
