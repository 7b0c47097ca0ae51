/** Work that somebody else's code may never finish. */
import { setMaxListeners } from 'node:events';

/** What the work gives, or a rejection with the signal's reason as soon as it is aborted. */
export async function untilAborted<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
  signal.throwIfAborted();
  // Each takes its listener away: that more than Node's ten wait at once is no leak, and no warning.
  setMaxListeners(Number.POSITIVE_INFINITY, signal);
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
