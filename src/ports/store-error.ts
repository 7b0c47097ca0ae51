/** The error of a store, of whatever kind: its code says what the package may do about it. */
import { inspect } from 'node:util';

const CODES = ['too_many_bytes', 'unreadable_log', 'file_quota_exceeded', 'dimension_mismatch'] as const;

/**
 * `too_many_bytes`: what is read takes more than the `maxBytes` that were asked for. `unreadable_log`: an event log holds
 * something that cannot be read, so that trying again does not help. `file_quota_exceeded`: the tenant would have more
 * files or bytes than the `quota`. `dimension_mismatch`: an embedding has another length than those in the vector store;
 * the message reaches the client.
 */
export type StoreErrorCode = (typeof CODES)[number];

/** What a store throws where it keeps to what it was asked; any other error is a failure of the store. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  /** What is wrong. */
  readonly code: StoreErrorCode;

  /** Throws a `TypeError` for an unknown code. */
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    if (!CODES.includes(code)) {
      throw new TypeError(`StoreError: code must be one of '${CODES.join("', '")}', got ${inspect(code)}`);
    }
    this.code = code;
  }
}

/** Whether the error is a `StoreError` with this code, also of another copy of this package. */
export function isStoreError(error: unknown, code: StoreErrorCode): error is StoreError {
  return error instanceof Error && error.name === 'StoreError' && 'code' in error && error.code === code;
}

/** The error of a read that exceeds the allowed bytes. */
export function tooManyBytes(maxBytes: number): StoreError {
  return new StoreError('too_many_bytes', `More than ${maxBytes} bytes are kept there.`);
}

/** The error of an embedding whose length is not that of those in the vector store: another model made it. */
export function dimensionMismatch(dimensions: number, stored: number): StoreError {
  const message = `The embedding has ${dimensions} dimensions; those in the vector store have ${stored}.`;
  return new StoreError('dimension_mismatch', message);
}
