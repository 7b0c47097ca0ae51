/** Stores what a later request needs: the one place that applies the host's policy for a failing store. */

import { notify, type ReportInfo, type Reports } from '../../ports/hooks.ts';
import { reportStep } from '../../ports/step.ts';
import { fromStore, type MaybePromise, type ResponseStore, type StoredResponse } from '../../ports/store.ts';
import type { ApiError } from '../../protocol/errors.ts';

/** The policy for a failing store. */
interface StoreFailureSettings {
  readonly onStoreError: 'fail' | 'continue';
  readonly hooks: Reports;
}

/** The store, and the policy for its failures. */
export interface StoreWriteSettings extends StoreFailureSettings {
  readonly store: ResponseStore;
}

/** Puts one record. Throws `store_error`, or only reports it, as the host configured. */
export function storeRecord(stored: StoredResponse, settings: StoreWriteSettings, about: ReportInfo): Promise<void> {
  return runStoreWrite(() => fromStore(() => settings.store.put(stored)), settings, about);
}

/** Runs one write to the store. Throws `store_error`, or only reports it, as the host configured. */
export async function runStoreWrite(
  keeping: () => MaybePromise<void>,
  { onStoreError, hooks }: StoreFailureSettings,
  about: ReportInfo,
): Promise<void> {
  const { requestId } = about;
  try {
    await reportStep(hooks.recorder?.onStep, keeping, (_, ms) => ({ name: 'stored', requestId, ms }));
  } catch (error) {
    if (onStoreError === 'fail') throw error;
    // The cast: both throw only this error.
    notify(hooks, 'onError', error as ApiError, about);
  }
}
