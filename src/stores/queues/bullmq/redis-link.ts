/** Sessions on Redis. */
import type { ConnectionOptions } from 'bullmq';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { createRedisBackend, Queue, Worker } from './bullmq.ts';
import {
  closeQuietly,
  type Link,
  type Opening,
  type QueueSettings,
  queueOptions,
  type Session,
  workerOptions,
} from './session.ts';

/** The part of a client of either package that the engine uses beside BullMQ. */
interface RedisClient {
  duplicate?(...options: readonly unknown[]): RedisClient;
  on(event: 'error', listener: (error: Error) => void): unknown;
  readonly isCluster?: boolean;
  /** ioredis. */
  defineCommand?: unknown;
  call?(command: string): Promise<unknown>;
  disconnect?(): unknown;
  /** node-redis. */
  sendCommand?(command: readonly string[]): Promise<unknown>;
  destroy?(): unknown;
  readonly isOpen?: boolean;
}

/** BullMQ's blocking reads wait for as long as they take, also while the server is away; BullMQ has a prefix of its own. */
const OPTIONS = { maxRetriesPerRequest: null, keyPrefix: '' };

/** Sessions over duplicates of the host's client, or over clients that BullMQ makes of its options. */
export function redisLink(connection: object, settings: QueueSettings): Link {
  // The cast: checked at creation.
  const host = connection as RedisClient;
  return {
    open: (opening) => (host.duplicate ? openDuplicate(host, settings, opening) : openOptions(host, settings, opening)),
    explain: (error) => explainRedis(error, settings),
  };
}

/** The first word of a Redis error is its code. */
function explainRedis(error: unknown, { prefix }: QueueSettings): unknown {
  if (!(error instanceof Error) || !error.message.startsWith('NOPERM')) return error;
  return new Error(
    `bullmqEngine: the user of the connection may not use the queue in Redis. Run ACL SETUSER <user> ~${prefix}* ` +
      '&* +@all -@dangerous +info',
    { cause: error },
  );
}

async function openDuplicate(host: RedisClient, settings: QueueSettings, opening: Opening) {
  const own = duplicateClient(host);
  own.on('error', opening.onError);
  const close = async () => {
    if (!own.destroy || own.defineCommand) return own.disconnect?.();
    // A client that is not open throws.
    if (own.isOpen) own.destroy();
    return undefined;
  };
  return openRedisSession(own, settings, opening, { client: () => Promise.resolve(own), close });
}

async function openOptions(options: object, settings: QueueSettings, opening: Opening) {
  return openRedisSession({ ...options, ...OPTIONS }, settings, opening, {
    // The cast: BullMQ makes an ioredis client, and hands its methods on.
    client: async (queue) => (await queue.getBackend().client) as unknown as RedisClient,
    close: async () => {},
  });
}

function duplicateClient(host: RedisClient): RedisClient {
  if (host.duplicate === undefined) return host;
  if (!host.defineCommand) return host.duplicate();
  // The cast: a cluster keeps the options of its nodes there.
  const nodes = (host as { options?: { redisOptions?: object } }).options?.redisOptions;
  return host.isCluster
    ? host.duplicate(undefined, { redisOptions: { ...nodes, ...OPTIONS } })
    : host.duplicate(OPTIONS);
}

type RedisQueue = ReturnType<typeof queueOn>;

interface OwnClient {
  client(queue: RedisQueue): Promise<RedisClient>;
  close(): Promise<unknown>;
}

function queueOn(connection: object, settings: QueueSettings) {
  // The cast: either package's client, or options, as BullMQ takes them.
  const options = { ...queueOptions(settings), connection: connection as ConnectionOptions };
  return new Queue(settings.queueName, options, createRedisBackend);
}

async function openRedisSession(
  connection: object,
  settings: QueueSettings,
  { onError, signal }: Opening,
  own: OwnClient,
): Promise<Session> {
  const queue = queueOn(connection, settings).on('error', onError);
  // The cast: as above.
  const options = { ...workerOptions(settings), connection: connection as ConnectionOptions };
  const worker = new Worker(settings.queueName, null, options, createRedisBackend).on('error', onError);
  const close = async () => {
    await closeQuietly(
      () => worker.close(true),
      () => queue.close(),
    );
    await own.close();
  };
  try {
    await untilAborted(signal, () => Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]));
    const client = await own.client(queue);
    return { queue, worker, close, now: () => readRedisTime(client) };
  } catch (error) {
    await close();
    throw error;
  }
}

async function readRedisTime(client: RedisClient): Promise<number> {
  const answer = client.defineCommand ? await client.call?.('TIME') : await client.sendCommand?.(['TIME']);
  // The cast: seconds and microseconds, as numbers or texts.
  const [seconds, microseconds] = answer as readonly (string | number)[];
  return Number(seconds) * 1000 + Number(microseconds) / 1000;
}
