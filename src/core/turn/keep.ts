/** Keeps a finished turn. */
import type { Item } from '../items.ts';
import { fromStore } from '../prepare/history.ts';
import type { ResponseStore, StoredResponse } from '../store.ts';

/** Puts the turn; resolves when it can be continued. Throws `store_error`. */
export async function keepTurn(store: ResponseStore, turn: StoredResponse): Promise<void> {
  await fromStore(() => store.put(turn));
}

/** The stored form of a turn: the resource loses its output, which stands beside it. */
export function storedTurn(
  turn: Omit<StoredResponse, 'resource' | 'output'>,
  resource: Readonly<Record<string, unknown>>,
): StoredResponse {
  const { output, ...rest } = resource;
  return { ...turn, output: output as readonly Item[], resource: rest };
}

/** The resource as the client knows it. */
export function wholeResource({ resource, output }: StoredResponse): Readonly<Record<string, unknown>> {
  return { ...resource, output };
}
