/** The store contract on expiry: a response expires at its time, and not before. */
import assert from 'node:assert/strict';
import type { StoredResponse } from '../../ports/store.ts';
import {
  assertGoes,
  assertSame,
  freshScope,
  idsOfChain,
  type StoreCase,
  type StoreSubject,
  turn,
} from './store-case.ts';

// Two units, not one: a store that rounds down to its granularity must still keep the response for one.
const SOON = 2;
const LATE = 1000;

/** The cases about expiry. */
export const expiryCases: readonly StoreCase[] = [
  {
    name: '[P-16] [B-34] drops a response when the store’s time to live is over',
    ttlUnits: SOON,
    async run(subject) {
      const response = timed(subject, 'resp_1');
      await subject.store.put(response);
      assertSame(await subject.store.get(response), response);
      await assertGoes(subject, response, SOON);
      assert.deepEqual(await idsOfChain(subject.store, response), []);
      assert.equal(await subject.store.delete(response), false);
    },
  },
  {
    name: '[P-16] drops a response at its own expiresAt if that is earlier',
    ttlUnits: LATE,
    async run(subject) {
      const response = timed(subject, 'resp_1', SOON);
      await subject.store.put(response);
      assertSame(await subject.store.get(response), response);
      await assertGoes(subject, response, SOON);
    },
  },
  {
    name: '[P-16] keeps a response no longer than the store’s time to live, whatever its expiresAt',
    ttlUnits: SOON,
    async run(subject) {
      const response = timed(subject, 'resp_1', LATE);
      await subject.store.put(response);
      await assertGoes(subject, response, SOON);
    },
  },
  {
    name: '[P-16] renews the time to live of a response that is put again',
    ttlUnits: LATE,
    async run(subject) {
      const short = timed(subject, 'resp_1', SOON);
      const marker = timed(subject, 'resp_2', SOON);
      const { expiresAt: _, ...long } = short;
      for (const response of [short, marker, long]) await subject.store.put(response);
      await assertGoes(subject, marker, SOON);
      assertSame(await subject.store.get(long), long);
    },
  },
  {
    name: '[P-16] ends a chain where an ancestor expired',
    ttlUnits: LATE,
    async run(subject) {
      const scope = freshScope();
      const parent = { ...timed(subject, 'resp_1', SOON), scope };
      const child = { ...timed(subject, 'resp_2'), scope, previousId: parent.id };
      for (const response of [parent, child]) await subject.store.put(response);
      await assertGoes(subject, parent, SOON);
      assert.deepEqual(await idsOfChain(subject.store, child), [child.id]);
    },
  },
];

/** A response created now by the store's clock, in a scope of its own, that expires after so many units. */
function timed({ clock, unitMs }: StoreSubject, id: string, units?: number): StoredResponse {
  const createdAt = clock?.now() ?? Date.now();
  const expiry = units === undefined ? {} : { expiresAt: createdAt + units * unitMs };
  return turn(freshScope(), id, { createdAt, ...expiry });
}
