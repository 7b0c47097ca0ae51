/** One way to run a script over both of Node's Redis clients, and the names of the keys. */

import { hash } from 'node:crypto';
import type { ResponseKey } from '../../ports/store.ts';
import { digestText } from '../store-parts.ts';

/** The part of a client or cluster of the package `redis` (node-redis) that the store uses. */
export interface NodeRedisClient {
  /** Runs a Lua script. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Runs a Lua script that the server knows, by its SHA-1. */
  evalSha(digest: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
}

/** The part of a client or cluster of the package `ioredis` that the store uses. */
export interface IoRedisClient {
  /** Runs a Lua script. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a Lua script that the server knows, by its SHA-1. */
  evalsha(digest: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** Either client; the host creates it, connects it, listens to its errors and ends it. */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** Runs a script on one key. */
export type RunScript = (script: RedisScript, key: string, ...more: readonly string[]) => Promise<unknown>;

/** A Lua script, and the digest by which a server that has run it knows it. */
export interface RedisScript {
  readonly text: string;
  readonly digest: string;
}

/** A script that receives its key as `KEYS[1]` and the rest as `ARGV`. */
export function redisScript(text: string): RedisScript {
  return { text, digest: hash('sha1', text) };
}

/** Whether the value can be used as either client. */
export function isRedisClient(value: unknown): boolean {
  const client = Object(value);
  return typeof client.eval === 'function' && [client.evalSha, client.evalsha].some((it) => typeof it === 'function');
}

/**
 * Runs scripts by their digest, and sends the source if the server does not know them (yet, or since its restart). Reads
 * are scripts too: clients that spread reads over replicas send scripts to the primary, which has every put.
 */
export function scriptsOn(client: RedisClient): RunScript {
  const byDigest: ScriptRunner =
    'evalSha' in client
      ? (digest, [key, ...more]) => client.evalSha(digest, { keys: [key], arguments: more })
      : (digest, keyAndMore) => client.evalsha(digest, 1, ...keyAndMore);
  const bySource: ScriptRunner =
    'evalSha' in client
      ? (text, [key, ...more]) => client.eval(text, { keys: [key], arguments: more })
      : (text, keyAndMore) => client.eval(text, 1, ...keyAndMore);
  return async function run(script, ...keyAndMore) {
    try {
      return await byDigest(script.digest, keyAndMore);
    } catch (error) {
      // The first word of a Redis error is its code.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return bySource(script.text, keyAndMore);
    }
  };
}

type ScriptRunner = (
  script: string,
  keyAndMore: readonly [key: string, ...more: readonly string[]],
) => Promise<unknown>;

/** The names under one prefix. */
export interface RedisKeys {
  readonly response: (key: ResponseKey) => string;
  readonly conversation: (key: ResponseKey) => string;
  readonly events: (key: ResponseKey) => string;
}

/** The braces put all keys of a scope into one slot of a cluster, so that a chain is on one node. */
export function redisKeys(prefix: string): RedisKeys {
  const keyNames = (kind: string) => (key: ResponseKey) =>
    `{${prefix}:${digestText(key.scope)}}:${kind}:${digestText(key.id)}`;
  return { response: keyNames('response'), conversation: keyNames('conversation'), events: keyNames('events') };
}
