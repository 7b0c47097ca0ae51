/** Keeps a finished turn, and gives it back as the client knows it. */

import { setTimeout as pause } from 'node:timers/promises';
import type { ReportInfo } from '../../ports/hooks.ts';
import {
  fromStore,
  hasFailed,
  isRunning,
  isUnstored,
  type ResponseKey,
  type ResponseStore,
  replaceVersion,
  type StoredResponse,
  storedVersion,
  type TurnFence,
} from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { Item } from '../../protocol/items.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { responseError } from '../../protocol/responses/response-error.ts';
import { runStoreWrite, type StoreWriteSettings, storeRecord } from '../request/keep.ts';
import { appendItems } from './conversation.ts';

/** A turn as it is stored, except for its end. */
type StoredTurn = Omit<StoredResponse, 'output' | 'resource'>;

/** The end of a turn as it is stored: the resource has no `output`. */
type StoredEnd = Pick<StoredResponse, 'output' | 'resource'>;

/**
 * Stores the turn with its final resource; resolves when it can be continued. A failing store throws `store_error`, or
 * is only reported, as the host configured.
 */
export function storeTurn(
  turn: StoredTurn,
  ended: StoredEnd,
  settings: StoreWriteSettings,
  about: ReportInfo,
): Promise<void> {
  return storeRecord(toStoredTurn(turn, ended), settings, about);
}

/** Thrown if a background turn was ended elsewhere, taken over or deleted, before it could be stored. */
export class TurnOverruled extends Error {
  override readonly name = 'TurnOverruled';
  /** Whether another process goes on with the turn, or has ended it well: what was stored beside it is in use. */
  readonly isTakenOver: boolean;

  /** `now` is what is stored; undefined if it was deleted. */
  constructor(now: StoredResponse | undefined) {
    super('The response has been cancelled, deleted or taken over.');
    this.isTakenOver = now !== undefined && !hasFailed(now);
  }
}

/** Milliseconds before each further attempt to store the end of a response: until then its clients see it running. */
const PAUSES_MS = [250, 1000, 4000];

/**
 * Replaces the response in progress by the finished turn, as `keepTurn` does. Throws `TurnOverruled` if it is no longer
 * in progress: another node or another request has ended it first. A turn with a version is ended only in that version.
 * Resolves with whether it was stored, where the host goes on without.
 */
export async function storeTurnEnd(
  turn: StoredTurn,
  ended: StoredEnd,
  settings: StoreWriteSettings,
  about: ReportInfo,
): Promise<boolean> {
  const { store } = settings;
  const end = () => toStoredTurn(turn, ended);
  let ending: Ending | undefined;
  await runStoreWrite(
    async () => {
      // A failure that is thrown has others who end the response.
      const pauses = settings.onStoreError === 'fail' ? [] : [...PAUSES_MS];
      while (!ending) {
        try {
          ending = await endRunning(store, turn, end, turn.version);
        } catch (error) {
          const pauseMs = pauses.shift();
          if (pauseMs === undefined) throw error;
          await pause(pauseMs);
        }
      }
    },
    settings,
    about,
  );
  if (ending?.isEnded === false) throw new TurnOverruled(ending.now);
  return ending !== undefined;
}

/** The outcome of an attempt to end a response. */
interface Ending {
  /** Whether this attempt ended it. */
  readonly isEnded: boolean;
  /** What is stored now; undefined if it was deleted. */
  readonly now: StoredResponse | undefined;
}

/** Each attempt fails only if something else changed the response meanwhile, which is rare for one that runs. */
const ENDING_TRIES = 10;

/**
 * Ends the response if it is still in progress; of several concurrent attempts one succeeds. Leaves a response
 * unchanged whose version is not the `expected` one. Throws `store_error`.
 */
export async function endRunning(
  store: ResponseStore,
  key: ResponseKey,
  end: (running: StoredResponse) => StoredResponse,
  expected?: number,
): Promise<Ending> {
  for (let tries = 0; tries < ENDING_TRIES; tries += 1) {
    const now = await fromStore(() => store.get(key));
    if (!now || !isRunning(now)) return { isEnded: false, now };
    const version = storedVersion(now);
    if (expected !== undefined && version !== expected) return { isEnded: false, now };
    const ended = { ...end(now), version: version + 1 };
    if (await fromStore(() => replaceVersion(store, ended, version))) return { isEnded: true, now: ended };
  }
  throw new ApiError('store_error', 'The store of responses failed.', {
    cause: new Error(`The store '${store.name}' refused to replace a response that nobody else has changed.`),
  });
}

/** The turn as it is stored, with its final resource. */
export function toStoredTurn(turn: StoredTurn, { resource, output }: StoredEnd): StoredResponse {
  return withExpiry({ output, resource, ...turn });
}

/** How long a background response with `store: false` can be retrieved after its end, in milliseconds; the same as OpenAI's. */
const UNSTORED_MS = 10 * 60_000;

/** The finished response, with the time at which it expires if its client wanted nothing stored. */
export function withExpiry(response: StoredResponse): StoredResponse {
  if (isRunning(response) || !isUnstored(response)) return response;
  return { ...response, expiresAt: Date.now() + UNSTORED_MS };
}

/** The response at its start. It expires at last if its node dies, since no response takes longer than this. */
export function withLatestExpiry(response: StoredResponse, durationMs: number): StoredResponse {
  if (!isUnstored(response)) return response;
  return { ...response, expiresAt: response.createdAt + durationMs + UNSTORED_MS };
}

/** A run of a crashed node counts as over this many milliseconds after its time limit. */
const GRACE_MS = 60_000;

/**
 * The response as the client is shown it: one whose node is gone has failed, since no run can take longer than this.
 */
export function failLostRun(stored: StoredResponse, durationMs: number): StoredResponse {
  if (!isRunning(stored) || Date.now() < stored.createdAt + durationMs + GRACE_MS) return stored;
  const error = responseError({ code: 'server_error', message: 'The server that made this response is gone.' });
  return { ...stored, resource: { ...stored.resource, status: 'failed', error } };
}

/** The items that a turn adds to its conversation. */
export interface Extension {
  readonly conversation: ResponseKey;
  readonly items: readonly Item[];
  /** The maximum bytes of items in the conversation afterwards. */
  readonly maxBytes: number;
  /** The turn, if another process may take it over. */
  readonly turn: TurnFence | undefined;
}

/**
 * Adds a turn's items to its conversation; returns whether there still is one. Throws `TurnOverruled` if another process
 * has taken the turn over, and the errors of `appendItems`.
 */
export async function extendConversation(
  settings: StoreWriteSettings,
  { conversation, items, ...terms }: Extension,
  about: ReportInfo,
): Promise<boolean> {
  const { store } = settings;
  let answer: Awaited<ReturnType<typeof appendItems>> | undefined;
  await runStoreWrite(
    async () => {
      answer = await appendItems(store, conversation, items, terms);
    },
    settings,
    about,
  );
  if (answer === 'overruled') {
    const key = { scope: conversation.scope, id: terms.turn?.id ?? '' };
    throw new TurnOverruled(await fromStore(() => store.get(key)));
  }
  return answer !== 'missing';
}

/** The resource of a stored turn, without what is stored for its next turn only. */
export function wholeResource({ resource, output }: StoredResponse): JsonObject {
  const { requested: _, logged: __, repeated: ___, ...shown } = resource;
  return { ...shown, output };
}
