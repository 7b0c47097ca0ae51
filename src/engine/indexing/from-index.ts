/** Calls the index of vector stores; clients see that it failed, but not why. */
import type { MaybePromise } from '../../ports/background/response-key.ts';
import { isStoreError } from '../../ports/store-error.ts';
import { ApiError } from '../../protocol/errors.ts';

/** Throws `store_error` if the index fails; a `StoreError` (`dimension_mismatch`) and `ApiError` stay as they are. */
export async function fromIndex<Value>(run: () => MaybePromise<Value>): Promise<Value> {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof ApiError || isStoreError(cause, 'dimension_mismatch')) throw cause;
    throw new ApiError('store_error', 'The index of vector stores failed.', { cause });
  }
}
