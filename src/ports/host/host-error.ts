/** Tells what a function of the host's threw from faults of our own: it is the host's to answer. */

/** Holds what the function threw as its cause. */
export class HostError extends Error {
  override readonly name = 'HostError';
}

/** Asks a function of the host's. Throws `HostError` where it throws. */
export function fromHost<Value>(run: () => Value): Value {
  try {
    return run();
  } catch (cause) {
    throw new HostError('A function of the host threw.', { cause });
  }
}

/** What the host itself threw, where it was the host. */
export function ownError(error: unknown): unknown {
  return error instanceof HostError ? error.cause : error;
}
