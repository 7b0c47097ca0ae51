/** Keeps a finished turn, and gives it back as the client knows it. */
import { appendItems } from '../conversations/conversation.ts';
import type { ApiError } from '../errors.ts';
import { tell } from '../hooks.ts';
import type { Item } from '../items.ts';
import type { CoreSettings } from '../options.ts';
import {
  fromStore,
  isRunning,
  isUnstored,
  type MaybePromise,
  type ResponseKey,
  type StoredResponse,
} from '../store.ts';

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
  return untilForgotten({ output: output as readonly Item[], resource, ...turn });
}

/** How long a response in the background that is not to be stored can be retrieved after its end, in milliseconds; as OpenAI's. */
const UNSTORED_MS = 10 * 60_000;

/** The response that has ended, with the time at which it is forgotten where its client wanted nothing stored. */
export function untilForgotten(response: StoredResponse): StoredResponse {
  if (isRunning(response) || !isUnstored(response)) return response;
  return { ...response, expiresAt: Date.now() + UNSTORED_MS };
}

/** The response that begins, which is forgotten at last where its node dies: it cannot take longer than this. */
export function untilEnded(response: StoredResponse, durationMs: number): StoredResponse {
  if (!isUnstored(response)) return response;
  return { ...response, expiresAt: response.createdAt + durationMs + UNSTORED_MS };
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
