/** Keeps a finished turn, and gives it back as the client knows it. */
import type { ApiError } from '../errors.ts';
import { tell } from '../hooks.ts';
import type { Item } from '../items.ts';
import type { CoreSettings } from '../options.ts';
import { fromStore, type StoredResponse } from '../store.ts';

type Fields = Readonly<Record<string, unknown>>;
type Settings = Pick<CoreSettings, 'store' | 'onStoreError' | 'hooks'>;

/**
 * Puts the turn with its final resource; resolves when it can be continued. A store that fails throws `store_error`, or
 * is only told of, as the host chose.
 */
export async function keepTurn(
  turn: Omit<StoredResponse, 'output' | 'resource'>,
  ended: Fields,
  { store, onStoreError, hooks }: Settings,
  requestId: string,
): Promise<void> {
  const { output, ...resource } = ended;
  try {
    await fromStore(() => store.put({ ...turn, output: output as readonly Item[], resource }));
  } catch (error) {
    if (onStoreError === 'fail') throw error;
    tell(hooks, 'onError', error as ApiError, { requestId });
  }
}

/** The whole resource of a stored turn. */
export function wholeResource({ resource, output }: StoredResponse): Fields {
  return { ...resource, output };
}
