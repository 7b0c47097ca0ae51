/** The parts of the cases about event logs. */
import assert from 'node:assert/strict';
import type { EventLog, LogAppend, LogHead, NewEventLog } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { freshScope, type StoreCase, type StoreSubject } from './store-case.ts';

/** The subject of a case about event logs. */
export interface EventSubject extends StoreSubject {
  readonly events: EventLog;
}

/** A case of the contract that works on the store’s event logs; a store without them passes. */
export function eventCase(name: string, run: (subject: EventSubject) => Promise<void>): StoreCase {
  return {
    name,
    run: async (subject) => {
      const { events } = subject.store;
      if (events) await run({ ...subject, events });
    },
  };
}

/** The time in so many units, by the store's clock; by default, after the case is over. */
export function timeIn({ clock, unitMs }: StoreSubject, units = 1000): number {
  return (clock?.now() ?? Date.now()) + units * unitMs;
}

/** Begins a log of the first epoch under a key of its own, and returns the key. */
export async function beginFreshLog(subject: EventSubject, more: Partial<NewEventLog> = {}): Promise<ResponseKey> {
  const key = { scope: freshScope(), id: 'resp_1' };
  await beginLog(subject, key, more);
  return key;
}

/** Begins a log of the first epoch under this key. */
export async function beginLog(
  subject: EventSubject,
  key: ResponseKey,
  more: Partial<NewEventLog> = {},
): Promise<void> {
  await subject.events.begin(key, { epoch: 1, request: 'the request', expiresAt: timeIn(subject), ...more });
}

/** The events of these sequence numbers, to append in the first epoch. */
export function logBatch(from: number, count: number, more: Partial<LogAppend> = {}): LogAppend {
  return { epoch: 1, from, events: texts(from, from + count), state: `state ${from + count}`, ...more };
}

/** The texts of the events from one sequence number up to another, which is not included. */
export function texts(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, index) =>
    JSON.stringify({ type: 'response.output_text.delta', sequence_number: from + index }),
  );
}

/** Asserts the events of the log and its position, as both methods report it. */
export async function assertLog(
  events: EventLog,
  key: ResponseKey,
  expected: LogHead,
  expectedTexts = texts(0, expected.next),
): Promise<void> {
  const page = await events.read(key, -1, 1_000_000);
  const [head] = await events.heads([key]);
  const expectedHead = plainHead(expected);
  assertEqual(
    [page && plainHead(page), page?.from, page?.events, head && plainHead(head)],
    [expectedHead, 0, expectedTexts, expectedHead],
  );
}

/** Asserts that no method finds or creates a log under the key. */
export async function assertNoLog(events: EventLog, { scope, id }: ResponseKey): Promise<void> {
  const key = { scope, id };
  const found = [
    await events.append(key, logBatch(0, 1)),
    await events.append(key, logBatch(0, 0)),
    await events.claim(key, 99),
    await events.end(key, 99, Date.now() + 1_000_000_000),
    await events.read(key, -1, 1000),
    ...(await events.heads([key])),
    await events.delete(key),
  ];
  assertEqual(found, [false, false, undefined, false, undefined, undefined, false]);
}

/** The position alone: a store may return more. */
export function plainHead({ epoch, next, ended }: LogHead): LogHead {
  return { epoch, next, ended };
}

/** Compares through JSON, so that objects made in another realm (a test runner's, a driver's) compare as equal. */
export function assertEqual(actual: unknown, expected: unknown): void {
  assert.deepEqual(JSON.parse(JSON.stringify([actual])), JSON.parse(JSON.stringify([expected])));
}
