/** The parts of the store contract's cases, and the helpers that they share. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type MaybePromise,
  type ResponseKey,
  type ResponseStore,
  readChain,
  type StoredResponse,
} from '../../ports/store.ts';

/** The clock that a store under test reads, if the test can advance it. */
export interface StoreContractClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Moves the time forward by so many milliseconds. */
  advance(ms: number): void | Promise<void>;
}

/** The subject of a case: a store, its clock, and the shortest time that the case may rely on. */
export interface StoreSubject {
  readonly store: ResponseStore;
  /** Undefined if real time has to pass. */
  readonly clock: StoreContractClock | undefined;
  readonly unitMs: number;
}

/** Anything that finds values by key: responses or conversations. */
interface Finder {
  get(key: ResponseKey): MaybePromise<unknown>;
}

/** One case of the contract. */
export interface StoreCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  /** How many units of time the store keeps a response; its own default if omitted. */
  readonly ttlUnits?: number;
  run(subject: StoreSubject): Promise<void>;
}

/** A scope that no other case uses, so that cases on one database do not meet. */
export function freshScope(): string {
  return `scope-${randomUUID()}`;
}

/** A small complete turn whose every part contains its id. */
export function turn(scope: string, id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  return {
    scope,
    id,
    createdAt: Date.now(),
    input: [{ type: 'message', role: 'user', content: `Question of ${id}` }],
    output: [{ type: 'message', id: `msg_${id}`, role: 'assistant', content: [{ type: 'output_text', text: id }] }],
    resource: { id, object: 'response', status: 'completed', metadata: { turn: id }, usage: null },
    ...more,
  };
}

/** Asserts that two responses are equal, except for `expiresAt`, which a store may set. */
export function assertSame(actual: StoredResponse | undefined, expected: StoredResponse): void {
  assert.ok(actual, `${expected.id} is missing`);
  assert.deepEqual(plainResponse(actual), plainResponse(expected));
}

/** Asserts that nothing is found under the key. */
export async function assertMissing(store: Finder, key: ResponseKey): Promise<void> {
  assert.equal(await store.get(key), undefined, `${JSON.stringify(key)} must be missing`);
}

/** The ids of the chain, newest first. */
export async function idsOfChain(store: ResponseStore, key: ResponseKey, limit = 10): Promise<readonly string[]> {
  // Not with map: on an array of a driver, made in another realm than the test runner's, it would return such an array again.
  return Array.from(await readChain(store, key, limit), ({ id }) => id);
}

/** Lets so many units of time pass, by the test's clock if there is one. */
export async function elapse({ clock, unitMs }: Omit<StoreSubject, 'store'>, units: number): Promise<void> {
  if (clock) await clock.advance(units * unitMs);
  else await pause(units * unitMs);
}

/** Waits until the response is gone, by the test's clock if there is one; fails if it stays. */
export async function assertGoes(
  { store, clock, unitMs }: Omit<StoreSubject, 'store'> & { readonly store: Finder },
  key: ResponseKey,
  units: number,
): Promise<void> {
  await clock?.advance((units + 1) * unitMs);
  const deadline = Date.now() + (clock ? 0 : 3 * units * unitMs);
  while (Date.now() < deadline && (await store.get(key)) !== undefined) await pause(unitMs / 20);
  await assertMissing(store, key);
}

function plainResponse(response: StoredResponse): unknown {
  const { expiresAt: _, ...rest } = response;
  return plainValue(rest);
}

/** Through JSON, so that objects made in another realm (a test runner's, a driver's) compare as equal. */
export function plainValue(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** The fields of an object as text, in an order that does not depend on the store. */
export function sortedEntries(fields: unknown): string {
  return JSON.stringify(Object.entries(fields ?? {}).sort());
}
