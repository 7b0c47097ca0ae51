/** What stores have in common: their usual lifetimes, their methods for responses, and digests of ids. */
import { hash } from 'node:crypto';
import type { LogHead } from '../ports/background/event-log.ts';
import type { ResponseStore, WithAll } from '../ports/store.ts';

/** How long responses, conversations and event logs are kept by default, in milliseconds. */
export const MONTH_MS = 30 * 24 * 60 * 60 * 1000;

/** How long unfinished uploads are kept by default, in milliseconds. */
export const HOUR_MS = 60 * 60 * 1000;

/** The methods for responses of a store that has all of them. */
export type ResponseMethods = WithAll<Pick<ResponseStore, 'get' | 'put' | 'replace' | 'delete' | 'chain'>>;

/** A digest of the text; JSON preserves lone surrogates, which UTF-8 does not. */
export function digestBytes(text: string): Uint8Array {
  return hash('sha256', JSON.stringify(text), 'buffer');
}

/** The same as text. */
export function digestText(text: string, encoding: 'base64url' | 'hex' = 'base64url'): string {
  return hash('sha256', JSON.stringify(text), encoding);
}

/** A size or a time as a whole number that every database takes; without one the largest. */
export function boundedInteger(value = Number.MAX_SAFE_INTEGER): number {
  return Math.floor(Math.min(value, Number.MAX_SAFE_INTEGER));
}

/**
 * The position of a log from its columns; undefined if there is no log. Databases return integers of 64 bits as texts or
 * bigints, and booleans also as 0 and 1.
 */
export function toLogHead({
  epoch,
  next,
  ended,
}: { readonly [Column in keyof LogHead]: unknown }): LogHead | undefined {
  if (epoch === null) return undefined;
  return { epoch: Number(epoch), next: Number(next), ended: Number(ended) === 1 };
}
