/** What the cases of the store contract are made of, and the few questions that they share. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ResponseKey, ResponseStore, StoredResponse } from '../core/store.ts';

/** The clock that a store under test reads, where the test can turn it. */
export interface StoreContractClock {
  /** Milliseconds since the epoch. */
  now(): number;
  advance(ms: number): void | Promise<void>;
}

/** What a case works on: a store, its clock, and the shortest time that the case may reckon with. */
export interface StoreSubject {
  readonly store: ResponseStore;
  /** Undefined where the real time has to pass. */
  readonly clock: StoreContractClock | undefined;
  readonly unitMs: number;
}

/** One case of the contract. */
export interface StoreCase {
  /** A sentence that cites the requirements it proves. */
  readonly name: string;
  /** How many units of time the store keeps a response; its own default where omitted. */
  readonly ttlUnits?: number;
  run(subject: StoreSubject): Promise<void>;
}

/** A scope that no other case uses, so that cases on one database do not meet. */
export function freshScope(): string {
  return `scope-${randomUUID()}`;
}

/** A small whole turn whose every part tells its id. */
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

/** Asserts that two responses are one, but for `expiresAt`, which a store may set. */
export function assertSame(actual: StoredResponse | undefined, expected: StoredResponse): void {
  assert.ok(actual, `${expected.id} is missing`);
  assert.deepEqual(plain(actual), plain(expected));
}

/** Asserts that nothing is found under the key. */
export async function assertMissing(store: ResponseStore, key: ResponseKey): Promise<void> {
  assert.equal(await store.get(key), undefined, `${JSON.stringify(key)} must be missing`);
}

/** Waits until the response is gone, by the test's clock where there is one; fails where it stays. */
export async function assertGoes(
  { store, clock, unitMs }: StoreSubject,
  key: ResponseKey,
  units: number,
): Promise<void> {
  await clock?.advance((units + 1) * unitMs);
  const deadline = Date.now() + (clock ? 0 : 3 * units * unitMs);
  while (Date.now() < deadline && (await store.get(key)) !== undefined) await pause(unitMs / 20);
  await assertMissing(store, key);
}

// By way of JSON, so that objects made in another realm (a test runner's, a driver's) compare as equal.
function plain(response: StoredResponse): unknown {
  const { expiresAt: _, ...rest } = response;
  return JSON.parse(JSON.stringify(rest));
}
