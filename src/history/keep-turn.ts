/** Stores a finished turn, and returns it in the client's form. */

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
 * Puts the turn with its final resource; resolves when it can be continued. A failing store throws `store_error`, or is
 * only reported, as the host configured.
 */
export async function keepTurn(
  turn: Omit<StoredResponse, 'output' | 'resource'>,
  ended: JsonObject,
  settings: KeepSettings,
  requestId: string,
): Promise<void> {
  await keep(keptTurn(turn, ended), settings, requestId);
}

/** Thrown if a background turn was ended otherwise, or deleted, before its end could be stored. */
export class TurnOverruled extends Error {
  override readonly name = 'TurnOverruled';
}

/**
 * Replaces a turn's response in progress with its end, as `keepTurn` does. Throws `TurnOverruled` if the response is no
 * longer in progress: another end, on whichever node, has already been reported to a client.
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
      isEnded = (await endRunning(store, turn, () => keptTurn(turn, ended))).isEnded;
    },
    settings,
    requestId,
  );
  if (!isEnded) throw new TurnOverruled('The response has been cancelled or deleted.');
}

/** The result of an attempt to end a response. */
interface Ending {
  /** Whether this attempt ended it. */
  readonly isEnded: boolean;
  /** What is stored now; undefined if it was deleted. */
  readonly now: StoredResponse | undefined;
}

/** Maximum attempts. Each fails only if the response was changed in between; a running one changes rarely. */
const ENDING_TRIES = 10;

/** Ends the response if it is still in progress; of several concurrent attempts one succeeds. Throws `store_error`. */
export async function endRunning(
  store: ResponseStore,
  key: ResponseKey,
  end: (running: StoredResponse) => StoredResponse,
): Promise<Ending> {
  for (let tries = 0; tries < ENDING_TRIES; tries += 1) {
    const now = await fromStore(() => store.get(key));
    if (!now || !isRunning(now)) return { isEnded: false, now };
    const version = versionOf(now);
    const ended = { ...end(now), version: version + 1 };
    if (await fromStore(() => replaceIn(store, ended, version))) return { isEnded: true, now: ended };
  }
  throw new ApiError('store_error', 'The store of responses failed.', {
    cause: new Error(`The store '${store.name}' refused to replace a response that nobody else has changed.`),
  });
}

/** The turn as it is stored, with its final resource. */
export function keptTurn(turn: Omit<StoredResponse, 'output' | 'resource'>, ended: JsonObject): StoredResponse {
  const { output, ...resource } = ended;
  return untilForgotten({ output: output as readonly Item[], resource, ...turn });
}

/**
 * How long a background response with `store: false` can be retrieved after its end, in milliseconds; OpenAI's value.
 */
const UNSTORED_MS = 10 * 60_000;

/** The ended response, with the time at which it expires if its client wanted nothing stored. */
export function untilForgotten(response: StoredResponse): StoredResponse {
  if (isRunning(response) || !isUnstored(response)) return response;
  return { ...response, expiresAt: Date.now() + UNSTORED_MS };
}

/** The response that begins, which expires if its node crashes: it cannot take longer than this. */
export function untilEnded(response: StoredResponse, durationMs: number): StoredResponse {
  if (!isUnstored(response)) return response;
  return { ...response, expiresAt: response.createdAt + durationMs + UNSTORED_MS };
}

/** The items that a turn adds to its conversation. */
export interface Extension {
  readonly conversation: ResponseKey;
  readonly items: readonly Item[];
  /** Maximum bytes of the conversation's items after that. */
  readonly maxBytes: number;
}

/**
 * Adds a turn's items to its conversation. Throws `conversation_not_found` if that was deleted in the meantime, and as
 * `appendItems`.
 */
export async function extend(
  { store, ...settings }: KeepSettings,
  { conversation, items, maxBytes }: Extension,
  requestId: string,
): Promise<void> {
  await kept(() => appendItems(store, conversation, items, maxBytes), settings, requestId);
}

/** The whole resource of a stored turn, without what is stored for its next one. */
export function wholeResource({ resource, output }: StoredResponse): JsonObject {
  const { asked: _, ...shown } = resource;
  return { ...shown, output };
}
