/** Keeps a finished turn, and gives it back as the client knows it. */
import { type KeepSettings, keep, kept } from '../ports/keep.ts';
import type { ResponseKey, StoredResponse } from '../ports/store.ts';
import type { Item } from '../protocol/items.ts';
import { appendItems } from './conversation.ts';

type Fields = Readonly<Record<string, unknown>>;

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

/** Adds a turn's items to its conversation; throws `conversation_not_found` where that was deleted in the meantime. */
export async function extend(
  { store, ...settings }: KeepSettings,
  conversation: ResponseKey,
  items: readonly Item[],
  requestId: string,
): Promise<void> {
  await kept(() => appendItems(store, conversation, items), settings, requestId);
}

/** The whole resource of a stored turn. */
export function wholeResource({ resource, output }: StoredResponse): Fields {
  return { ...resource, output };
}
