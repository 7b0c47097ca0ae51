/** When the stream of a silent model is opened. */
import { openAfter } from '../../src/apis/endpoint/prepare.ts';

it('[O-04] a stream opens no later than its first heartbeat would come, unless it never opens', () => {
  expect([
    openAfter(5000, { intervalMs: 2000 }),
    openAfter(1000, { intervalMs: 2000 }),
    openAfter(5000, { intervalMs: undefined }),
    openAfter(Number.POSITIVE_INFINITY, { intervalMs: 2000 }),
  ]).toEqual([2000, 1000, 5000, Number.POSITIVE_INFINITY]);
});
