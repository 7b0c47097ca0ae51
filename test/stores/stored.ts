/** What the tests of stores put, and the clock that they turn. */
import type { StoredResponse } from '../../src/ports/store.ts';
import { type StoreContract, type StoreUnderTest, storeContract } from '../../src/testing/index.ts';

/** A clock that stands still until the test moves it on. */
export function stoppedClock() {
  let time = Date.UTC(2026, 0, 1);
  return {
    now: () => time,
    advance(ms: number) {
      time += ms;
    },
  };
}

/** A small response of the scope `s`. */
export function storedResponse(id: string, more: Partial<StoredResponse> = {}): StoredResponse {
  return { scope: 's', id, createdAt: 0, input: [], output: [], resource: {}, ...more };
}

/** The options of a store in its contract. */
interface MadeWith {
  readonly ttlMs: number | undefined;
  readonly now: () => number;
}

/** Runs the whole contract for the stores that this makes, whose time the tests turn. */
export function contractWithClock(
  make: (options: MadeWith) => Omit<StoreUnderTest, 'clock'>,
  more: Pick<StoreContract, 'conversations'> = {},
): void {
  storeContract({
    describe,
    it,
    bounded: true,
    ...more,
    create({ ttlMs }) {
      const clock = stoppedClock();
      return { ...make({ ttlMs, now: clock.now }), clock };
    },
  });
}
