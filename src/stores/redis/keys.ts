/** The names of Redis keys: digests, because scope and id come from outside and may contain anything. */
import { hash } from 'node:crypto';
import type { ResponseKey } from '../../ports/store.ts';

/** The names under one prefix. */
export interface RedisKeys {
  readonly response: (key: ResponseKey) => string;
  readonly conversation: (key: ResponseKey) => string;
}

/** The braces put all keys of a scope into one slot of a cluster, so that a chain is on one node. */
export function redisKeys(prefix: string): RedisKeys {
  const named = (kind: string) => (key: ResponseKey) =>
    `{${prefix}:${digestOf(key.scope)}}:${kind}:${digestOf(key.id)}`;
  return { response: named('response'), conversation: named('conversation') };
}

/** A digest of the text; JSON preserves lone surrogates, which UTF-8 does not. */
export function digestOf(text: string): string {
  return hash('sha256', JSON.stringify(text), 'base64url');
}
