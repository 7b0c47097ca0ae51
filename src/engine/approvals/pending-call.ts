/** Calls that wait for the user's approval, stored until they are answered, so that an approval is bound to one call. */

import type { ReportInfo } from '../../ports/hooks.ts';
import { fromStore, type ResponseStore, type StoredResponse } from '../../ports/store.ts';
import type { PendingCall } from '../../ports/turn-context.ts';
import { recordKey, responseIdOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { type StoreWriteSettings, storeRecord } from '../request/keep.ts';

/** The same as stored. */
interface StoredCall extends Item, PendingCall {
  readonly type: typeof TYPE;
}

const TYPE = 'pending_call';

/**
 * Stores the call, even if the client wants nothing stored. Throws `store_error`, or only reports it, as the host
 * configured.
 */
export async function storePendingCall(
  settings: StoreWriteSettings,
  about: ReportInfo & { readonly scope: string },
  pending: PendingCall,
): Promise<void> {
  await storeRecord(toStoredCall(about.scope, pending), settings, about);
}

/** Stores calls again that were taken and will not run. Throws `store_error`. */
export async function restorePendingCalls(
  store: ResponseStore,
  scope: string,
  calls: readonly PendingCall[],
): Promise<void> {
  for (const call of calls) await fromStore(() => store.put(toStoredCall(scope, call)));
}

function toStoredCall(scope: string, pending: PendingCall): StoredResponse {
  const id = recordKey('pendingCall', pending.request.id);
  const call: StoredCall = { type: TYPE, ...pending };
  return { scope, id, createdAt: Date.now(), input: [], output: [call], resource: {} };
}

/**
 * The call that the item refers to; undefined if it is answered, expired, unknown or in another scope. Throws
 * `store_error`.
 */
export async function findPendingCall(
  store: ResponseStore,
  scope: string,
  id: string,
): Promise<PendingCall | undefined> {
  // Ids that were not generated here would be keys of any length.
  if (responseIdOfItem(id) === undefined) return undefined;
  const stored = await fromStore(() => store.get({ scope, id: recordKey('pendingCall', id) }));
  const [call] = stored?.output ?? [];
  // The cast: items of this type are written here alone.
  return call?.type === TYPE ? (call as StoredCall) : undefined;
}

/** Removes the call, so that it can be answered once; returns whether it was still there. Throws `store_error`. */
export async function takePendingCall(store: ResponseStore, scope: string, id: string): Promise<boolean> {
  return (
    responseIdOfItem(id) !== undefined && fromStore(() => store.delete({ scope, id: recordKey('pendingCall', id) }))
  );
}

/** Removes the calls that these items refer to: they can no longer be approved. Throws `store_error`. */
export async function dropPendingCalls(store: ResponseStore, scope: string, items: readonly Item[]): Promise<void> {
  for (const { type, id } of items) {
    if (type === 'mcp_approval_request') await takePendingCall(store, scope, String(id));
  }
}
