/** Runs background responses in whichever process claims them first, through BullMQ on Redis or PostgreSQL. */
import type { BackgroundEngine } from '../../../ports/background/background-engine.ts';
import {
  asSecret,
  checkOptions,
  MAX_MS,
  type OptionCheck,
  positiveInteger,
} from '../../../ports/host/options-check.ts';
import { isRecord } from '../../../protocol/record.ts';
import { type BullmqPool, postgresLink } from './postgres-link.ts';
import { QueueEngine } from './queue-engine.ts';
import { redisLink } from './redis-link.ts';

export type { BullmqPool } from './postgres-link.ts';

/** The options of a BullMQ engine: `connection` or `pool`, and `undefined` means the default. */
export interface BullmqEngineOptions {
  /**
   * Redis: a client of the package `redis`, a client or cluster of `ioredis`, or the options of an `ioredis` client. The
   * engine duplicates a client, and leaves the host's own as it is.
   */
  readonly connection?: object | undefined;
  /**
   * PostgreSQL: a pool of the package `pg`. The engine creates a pool of at most 4 connections with the same options, and
   * BullMQ's tables in the schema `bullmq`. Its user needs `CREATE` on the database once.
   */
  readonly pool?: BullmqPool | undefined;
  /** The name of the queue, from 1 to 100 letters, digits, hyphens, underscores and dots; `open-responses` by default. */
  readonly queueName?: string | undefined;
  /** The most responses that this process runs at the same time; 100 by default. */
  readonly concurrency?: number | undefined;
  /**
   * How long a lock lasts without renewal, in milliseconds. Another process takes over a response usually 1 to 1.5
   * times as long after its process died, and at most 3 times. From 1000; 10,000 by default.
   */
  readonly lockMs?: number | undefined;
  /**
   * The prefix of the keys in Redis; `{open-responses}` by default, whose braces put all keys in one slot of a cluster.
   * PostgreSQL has none.
   */
  readonly prefix?: string | undefined;
}

const MIN_LOCK_MS = 1000;
const QUEUE_NAME = /^[\w.-]{1,100}$/;

const checks: Readonly<Record<keyof BullmqEngineOptions, OptionCheck>> = {
  connection: asSecret(
    (value) => isConnection(value) || 'a client of redis or ioredis, or the options of an ioredis client',
  ),
  pool: asSecret((value) => isPgPool(value) || 'a pool of the package pg'),
  queueName: (value) =>
    (typeof value === 'string' && QUEUE_NAME.test(value)) || '1 to 100 letters, digits, hyphens, underscores and dots',
  concurrency: positiveInteger,
  lockMs: (value) =>
    (Number.isInteger(value) && Number(value) >= MIN_LOCK_MS && Number(value) <= MAX_MS) ||
    `a whole number of milliseconds from ${MIN_LOCK_MS} to ${MAX_MS}`,
  prefix: (value) => (typeof value === 'string' && value !== '') || 'a text that is not empty',
};

/**
 * Claims responses from a queue that all processes share; when one dies, another runs its responses. Needs the package
 * `bullmq`, and `pg`, `redis` or `ioredis`. The queue holds scopes and ids, no content. Throws a `TypeError` for a bad
 * option.
 *
 * @example
 * ```ts
 * import { bullmqEngine } from 'express-open-responses/engines/bullmq';
 * import { Pool } from 'pg';
 *
 * const engine = bullmqEngine({ pool: new Pool({ connectionString: process.env.DATABASE_URL }) });
 * ```
 */
export function bullmqEngine(options: BullmqEngineOptions): BackgroundEngine {
  checkOptions('bullmqEngine', options, checks);
  const { connection, pool, queueName = 'open-responses', concurrency = 100, lockMs = 10_000 } = options;
  if ((connection === undefined) === (pool === undefined))
    throw new TypeError(`bullmqEngine: give either connection or pool, got ${pool ? 'both' : 'none'}`);
  const { prefix = '{open-responses}' } = options;
  const queue = { queueName, lockMs, prefix };
  const link = pool ? postgresLink(pool, queue) : redisLink(Object(connection), queue);
  return new QueueEngine({ concurrency, lockMs, link });
}

/** node-redis' cluster is left out, because BullMQ does not speak to it. */
function isConnection(value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (typeof value.duplicate === 'function') return typeof value.defineCommand === 'function' || 'isReady' in value;
  // A plain object, with options.
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isPgPool(value: unknown): boolean {
  const { options, query, connect, end } = Object(value);
  return isRecord(options) && [query, connect, end].every((method) => typeof method === 'function');
}
