/** Keeps a finished turn, and gives it back as the client knows it. */
import { appendItems } from '../history/conversation.ts';
import { tell } from '../ports/hooks.ts';
import { fromStore, type MaybePromise, type ResponseKey, type StoredResponse } from '../ports/store.ts';
import type { ApiError } from '../protocol/errors.ts';
import type { Item } from '../protocol/items.ts';
import type { CoreSettings } from '../server/options.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Where things are kept, and what becomes of a failure. */
export type KeepSettings = Pick<CoreSettings, 'store' | 'onStoreError' | 'hooks'>;

/**
 * Puts the turn with its final resource; resolves when it can be continued. A store that fails throws `store_error`, or
 * is only told of, as the host chose.
 */
export async function keepTurn(
  turn: Omit<StoredResponse, 'output' | 'resource'>,
  ended: Fields,
  settings: KeepSettings,
  requestId: string,
): Promise<void> {
  await keep(keptTurn(turn, ended), settings, requestId);
}

/** The turn as it is kept, with its final resource. */
export function keptTurn(turn: Omit<StoredResponse, 'output' | 'resource'>, ended: Fields): StoredResponse {
  const { output, ...resource } = ended;
  return { output: output as readonly Item[], resource, ...turn };
}

/** Puts anything that a later request needs; the one place that knows what a failing store means to the host. */
export async function keep(
  stored: StoredResponse,
  { store, onStoreError, hooks }: KeepSettings,
  requestId: string,
): Promise<void> {
  await kept(() => fromStore(() => store.put(stored)), { onStoreError, hooks }, requestId);
}

/** Adds a turn's items to its conversation; throws `conversation_not_found` where that was deleted in the meantime. */
export async function extend(
  { store, ...settings }: KeepSettings,
  conversation: ResponseKey,
  items: readonly Item[],
  requestId: string,
): Promise<void> {
  await kept(() => appendItems(store, conversation, items), settings, requestId);
}

async function kept(
  keeping: () => MaybePromise<void>,
  { onStoreError, hooks }: Omit<KeepSettings, 'store'>,
  requestId: string,
): Promise<void> {
  try {
    await keeping();
  } catch (error) {
    if (onStoreError === 'fail') throw error;
    // The cast: both throw nothing else.
    tell(hooks, 'onError', error as ApiError, { requestId });
  }
}

/** The whole resource of a stored turn. */
export function wholeResource({ resource, output }: StoredResponse): Fields {
  return { ...resource, output };
}
