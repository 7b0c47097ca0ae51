/** Work that is waited for until a signal says otherwise. */
import { getEventListeners, getMaxListeners } from 'node:events';
import { untilAborted } from '../../src/streams/until-aborted.ts';

it('[P-10] may wait under one signal as often as it likes, without a warning of Node’s, and leaves no listener', async () => {
  const { signal } = new AbortController();
  const waiting = Array.from({ length: 20 }, (_, index) => untilAborted(signal, async () => index));
  const [most, allowed] = [getEventListeners(signal, 'abort').length, getMaxListeners(signal)];
  await Promise.all(waiting);
  expect([most, allowed, getEventListeners(signal, 'abort').length]).toEqual([20, Number.POSITIVE_INFINITY, 0]);
});
