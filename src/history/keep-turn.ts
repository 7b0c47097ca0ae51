/** Keeps a finished turn, and gives it back as the client knows it. */

import { type KeepSettings, keep, kept } from '../ports/endpoints/keep.ts';
import {
  fromStore,
  isRunning,
  isUnstored,
  type ResponseKey,
  type ResponseStore,
  replaceIn,
  type StoredResponse,
  versionOf,
} from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import type { Item } from '../protocol/items.ts';
import type { JsonObject } from '../protocol/record.ts';
import { appendItems } from './conversation.ts';

/**
 * Puts the turn with its final resource; resolves when it can be continued. A store that fails throws `store_error`, or
 * is only reported, as the host chose.
 */
export async function keepTurn(
  turn: Omit<StoredResponse, 'output' | 'resource'>,
  ended: JsonObject,
  settings: KeepSettings,
  requestId: string,
): Promise<void> {
  await keep(keptTurn(turn, ended), settings, requestId);
}

/** Thrown where a turn in the background has ended otherwise, or was deleted, before it could be kept. */
export class TurnOverruled extends Error {
  override readonly name = 'TurnOverruled';
}

/**
 * Puts the end of a turn in the place of its response in progress, as `keepTurn` does. Throws `TurnOverruled` where that is
 * in progress no longer: another node, or another request, has ended it first and answered so. A turn with a version is
 * ended only in that version.
 */
export async function keepEnd(
  turn: Omit<StoredResponse, 'output' | 'resource'>,
  ended: JsonObject,
  { store, ...settings }: KeepSettings,
  requestId: string,
): Promise<void> {
  let isEnded = true;
  await kept(
    async () => {
      isEnded = (await endRunning(store, turn, () => keptTurn(turn, ended), turn.version)).isEnded;
    },
    settings,
    requestId,
  );
  if (!isEnded) throw new TurnOverruled('The response has been cancelled or deleted.');
}

/** How an attempt to end a response came out. */
interface Ending {
  /** Whether it was this one that ended it. */
  readonly isEnded: boolean;
  /** What is kept now; undefined where it was deleted. */
  readonly now: StoredResponse | undefined;
}

/** Each time somebody else has changed the response in between; there is little to change in one that runs. */
const ENDING_TRIES = 10;

/** Ends the response where it is still in progress; of several that do so at the same time one succeeds. One with another version than the `expected` one is left as it is. Throws `store_error`. */
export async function endRunning(
  store: ResponseStore,
  key: ResponseKey,
  end: (running: StoredResponse) => StoredResponse,
  expected?: number,
): Promise<Ending> {
  for (let tries = 0; tries < ENDING_TRIES; tries += 1) {
    const now = await fromStore(() => store.get(key));
    if (!now || !isRunning(now)) return { isEnded: false, now };
    const version = versionOf(now);
    if (expected !== undefined && version !== expected) return { isEnded: false, now };
    const ended = { ...end(now), version: version + 1 };
    if (await fromStore(() => replaceIn(store, ended, version))) return { isEnded: true, now: ended };
  }
  throw new ApiError('store_error', 'The store of responses failed.', {
    cause: new Error(`The store '${store.name}' refused to replace a response that nobody else has changed.`),
  });
}

/** The turn as it is kept, with its final resource. */
export function keptTurn(turn: Omit<StoredResponse, 'output' | 'resource'>, ended: JsonObject): StoredResponse {
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

/** What a turn adds to its conversation. */
export interface Extension {
  readonly conversation: ResponseKey;
  readonly items: readonly Item[];
  /** How many bytes of items the conversation may hold then. */
  readonly maxBytes: number;
}

/** Adds a turn's items to its conversation. Throws `conversation_not_found` where that was deleted in the meantime, and as `appendItems`. */
export async function extend(
  { store, ...settings }: KeepSettings,
  { conversation, items, maxBytes }: Extension,
  requestId: string,
): Promise<void> {
  await kept(() => appendItems(store, conversation, items, maxBytes), settings, requestId);
}

/** The whole resource of a stored turn, without what is kept for its next one. */
export function wholeResource({ resource, output }: StoredResponse): JsonObject {
  const { requested: _, logged: __, ...shown } = resource;
  return { ...shown, output };
}
