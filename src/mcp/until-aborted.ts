/** Lets one of several who wait for the same thing leave early. */

/**
 * Settles as the promise does, or rejects with the signal's reason when that comes first. Only for promises that are
 * sure to settle soon: each waiter stays attached to them until they do.
 */
export async function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  let leave = () => {};
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
  });
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await Promise.race([promise, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
