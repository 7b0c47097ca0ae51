/** What the tests of stores put, and the clock that they turn. */
import type { StoredResponse } from '../../src/ports/store.ts';

/** A clock that stands still until it is told to go on. */
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
