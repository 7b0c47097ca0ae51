/** Keeps responses, conversations and event logs in Redis, for any number of processes. */

import type { EventLog } from '../../ports/background/event-log.ts';
import { checkOptions, type OptionCheck, positiveInteger } from '../../ports/host/options-check.ts';
import { MONTH_MS, type ResponseMethods } from '../store-parts.ts';
import { isRedisClient, type RedisClient, redisKeys, redisScript, scriptsOn } from './client.ts';
import { type ConversationMethods, redisConversations } from './conversations.ts';
import { redisEvents } from './events.ts';
import { redisResponses } from './responses.ts';

export type { IoRedisClient, NodeRedisClient, RedisClient } from './client.ts';

/** The options of a Redis store; `undefined` means the default. */
export interface RedisStoreOptions {
  /** A connected client or cluster of `redis` or `ioredis`. The host listens to its `error` events and ends it. */
  readonly client: RedisClient;
  /** The prefix of every key, in braces; `open-responses` by default. */
  readonly prefix?: string | undefined;
  /** How long a response is kept after its put, in milliseconds; 30 days by default. */
  readonly ttlMs?: number | undefined;
  /** The clock, in milliseconds since the epoch, with which `expiresAt` is computed; `Date.now` by default. */
  readonly now?: (() => number) | undefined;
}

/** A store over Redis. */
export interface RedisStore extends ResponseMethods {
  /** The kind of store, `redis`. */
  readonly name: string;
  /** The conversations, with every optional method. */
  readonly conversations: ConversationMethods;
  /** The events of responses that outlive their requests. */
  readonly events: EventLog;
  /** The time by the database's clock, in milliseconds since the epoch. */
  time(): Promise<number>;
  /** Reads the server's version; rejects if it cannot be reached or is too old. Nothing needs to be set up. */
  setup(): Promise<void>;
  /** Does nothing, because the host ends the client. */
  close(): void;
}

const OLDEST_MAJOR_VERSION = 6;
const TIME = redisScript("return redis.call('TIME')");
const INFO = redisScript(`return redis.call('INFO', 'server')`);

/**
 * Keeps responses under `{prefix:…}` keys that Redis itself expires; each method is one round trip. Needs Redis 6. Throws
 * a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { redisStore } from 'express-open-responses/stores/redis';
 * import { createClient } from 'redis';
 *
 * const client = await createClient({ url: 'redis://127.0.0.1:6379' }).on('error', console.error).connect();
 * const router = responsesRouter({ store: redisStore({ client }) });
 * ```
 */
export function redisStore(options: RedisStoreOptions): RedisStore {
  checkOptions('redisStore', options, CHECKS);
  const { client, prefix = 'open-responses', ttlMs = MONTH_MS, now = Date.now } = options;
  if (client === undefined) throw new TypeError(`redisStore: client must be ${CLIENT}, got undefined`);
  const run = scriptsOn(client);
  const place = { run, keys: redisKeys(prefix), ttlMs, now };

  async function setup(): Promise<void> {
    const [, version = 'unknown'] = /redis_version:(\S+)/.exec(String(await run(INFO, `{${prefix}}:setup`))) ?? [];
    if (Number.parseInt(version, 10) < OLDEST_MAJOR_VERSION)
      throw new Error(`redisStore: needs Redis ${OLDEST_MAJOR_VERSION} or newer, the server is ${version}`);
  }

  return {
    name: 'redis',
    ...redisResponses(place),
    conversations: redisConversations(place),
    events: redisEvents(place),
    async time() {
      // The cast: seconds and microseconds, as texts.
      const [seconds, micros] = (await run(TIME, `{${prefix}}:time`)) as readonly [string, string];
      return Number(seconds) * 1000 + Number(micros) / 1000;
    },
    setup,
    close() {},
  };
}

const CLIENT = 'a client or cluster of the package redis or ioredis';
// Other braces would change which part of a key decides its slot.
const prefixCheck: OptionCheck = (value) =>
  (typeof value === 'string' && /^[^{}]+$/.test(value)) || 'a string without braces that is not empty';

const CHECKS: Readonly<Record<string, OptionCheck>> = {
  client: (value) => isRedisClient(value) || CLIENT,
  prefix: prefixCheck,
  ttlMs: positiveInteger,
  now: (value) => typeof value === 'function' || 'a function',
};
