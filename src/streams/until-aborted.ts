/** Waits for third-party work that may never finish. */
import { setMaxListeners } from 'node:events';

/** The result of the work, or a rejection with the signal's reason as soon as it is aborted. */
export async function untilAborted<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
  signal.throwIfAborted();
  // Each call removes its listener: more than Node's ten waiting at once is no leak, and must not warn.
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
