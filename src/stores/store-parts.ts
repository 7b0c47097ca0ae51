/** What stores have in common: their usual lifetimes, their methods for responses, and digests of ids. */
import { hash } from 'node:crypto';
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
export function digestText(text: string): string {
  return hash('sha256', JSON.stringify(text), 'base64url');
}
