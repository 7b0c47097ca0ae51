/** Keeps what a later request needs: the one place that knows what a failing store means to the host. */
import type { ApiError } from '../../protocol/errors.ts';
import { type Hooks, notify } from '../hooks.ts';
import { fromStore, type MaybePromise, type ResponseStore, type StoredResponse } from '../store.ts';

/** What becomes of a store that fails. */
interface StoreFailureSettings {
  readonly onStoreError: 'fail' | 'continue';
  readonly hooks: Hooks;
}

/** Where things are kept, and what becomes of a failure. */
export interface KeepSettings extends StoreFailureSettings {
  readonly store: ResponseStore;
}

/** Puts one record. Throws `store_error`, or only reports it, as the host chose. */
export async function keep(
  stored: StoredResponse,
  { store, ...settings }: KeepSettings,
  requestId: string,
): Promise<void> {
  await kept(() => fromStore(() => store.put(stored)), settings, requestId);
}

/** Runs one write to the store. Throws `store_error`, or only reports it, as the host chose. */
export async function kept(
  keeping: () => MaybePromise<void>,
  { onStoreError, hooks }: StoreFailureSettings,
  requestId: string,
): Promise<void> {
  try {
    await keeping();
  } catch (error) {
    if (onStoreError === 'fail') throw error;
    // The cast: both throw nothing else.
    notify(hooks, 'onError', error as ApiError, { requestId });
  }
}
