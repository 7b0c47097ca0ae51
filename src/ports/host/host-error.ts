/** Distinguishes errors of the host's functions from faults of this package: the host must handle its own. */

/** Holds the error that the function threw as its cause. */
export class HostError extends Error {
  override readonly name = 'HostError';
}

/** Calls a function of the host's. Throws `HostError` if it throws. */
export function fromHost<Value>(run: () => Value): Value {
  try {
    return run();
  } catch (cause) {
    throw new HostError('A function of the host threw.', { cause });
  }
}

/** The error that the host's function threw, if it was one. */
export function ownError(error: unknown): unknown {
  return error instanceof HostError ? error.cause : error;
}
