/** Finds what a request refers to: the turns that it continues, and single items by their id. */

import {
  chainOf,
  fromStore,
  isRunning,
  type ResponseKey,
  type ResponseStore,
  type StoredResponse,
} from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import { isResponseId, responseIdOfItem } from '../protocol/ids.ts';
import type { Item } from '../protocol/items.ts';
import type { Note } from '../protocol/note.ts';

/** A request's past. */
export interface History {
  /** Everything said before, oldest first. */
  readonly items: readonly Item[];
  /** The response that is continued. */
  readonly previous: StoredResponse | undefined;
}

const NO_HISTORY: History = { items: [], previous: undefined };

/**
 * The turns up to `previousId`. Throws `previous_response_not_found` where it is missing or another scope's,
 * `history_too_long` past the limit, `store_error` where the store fails.
 */
export async function loadHistory(
  store: ResponseStore,
  scope: string,
  previousId: string | null | undefined,
  limit: number,
): Promise<History> {
  if (!previousId) return NO_HISTORY;
  if (!isResponseId(previousId)) throw notFound(previousId);
  // One more than allowed tells a chain at the limit from one past it.
  const chain = await fromStore(() => chainOf(store, { scope, id: previousId }, limit + 1));
  const [previous] = chain;
  if (!previous || hasFailed(previous)) throw notFound(previousId);
  if (isRunning(previous)) throw inProgress(previousId);
  if (chain.length > limit) throw tooLong(limit);
  return { items: itemsSaid(chain.toReversed()), previous };
}

/** Loops: `flatMap` takes ten times as long for the thousands of items that there may be. */
function itemsSaid(turns: readonly StoredResponse[]): readonly Item[] {
  const items: Item[] = [];
  for (const { input, output } of turns) {
    for (const item of input) items.push(item);
    for (const item of output) items.push(item);
  }
  return items;
}

/** Only those in the background are kept then. A conversation does not go on from half an answer. */
function hasFailed({ resource: { status } }: StoredResponse): boolean {
  return status === 'failed' || status === 'cancelled';
}

function notFound(id: string): ApiError {
  const message = `Previous response with id '${id}' not found.`;
  return new ApiError('previous_response_not_found', message, { param: 'previous_response_id' });
}

function inProgress(id: string): ApiError {
  const message = `Previous response with id '${id}' is still in progress.`;
  return new ApiError('response_in_progress', message, { param: 'previous_response_id' });
}

function tooLong(limit: number): ApiError {
  const message = `The conversation is longer than the ${limit} responses that this server continues.`;
  return new ApiError('history_too_long', message, { param: 'previous_response_id' });
}

/**
 * The input with every `item_reference` replaced by its item, and every hosted call whose result the client lost by the
 * stored one, from the history or the store. References to unknown items are noted and left out.
 */
export async function resolveReferences(
  store: ResponseStore,
  scope: string,
  input: readonly Item[],
  history: readonly Item[],
  note: (note: Note) => void,
): Promise<readonly Item[]> {
  if (!input.some(needsStored)) return input;
  const known = new Map(history.map((item) => [item.id, item]));
  const find = itemFinder(store, scope);
  const referredTo = async ({ id }: Item): Promise<Item | undefined> => {
    const earlier = known.get(id);
    // A copy: the item is said again here, and whoever tells the client's own from the history goes by identity.
    return earlier ? { ...earlier } : find(String(id));
  };
  const resolved: Item[] = [];
  for (const item of input) {
    const stored = needsStored(item) ? await referredTo(item) : item;
    if (stored) resolved.push(stored);
    else if (!isReference(item)) resolved.push(item);
    else
      note({ code: 'reference_skipped', message: `No item with id '${item.id}' is known; the reference is skipped.` });
  }
  return resolved;
}

function needsStored(item: Item): boolean {
  // Some clients send an empty list for the outputs that they were not shown.
  if (item.type === 'code_interpreter_call') return !Array.isArray(item.outputs) || item.outputs.length === 0;
  return isReference(item) || (item.type === 'mcp_call' && !item.output && !item.error);
}

function isReference({ type }: Item): boolean {
  return type === 'item_reference';
}

/** Finds items by their ids; each response that holds some is asked for once. */
function itemFinder(store: ResponseStore, scope: string): (itemId: string) => Promise<Item | undefined> {
  const found = new Map<string, Promise<ReadonlyMap<unknown, Item>>>();
  return async (itemId) => {
    const id = responseIdOfItem(itemId);
    if (id === undefined) return undefined;
    const items = found.get(id) ?? itemsOf(store, { scope, id });
    found.set(id, items);
    return (await items).get(itemId);
  };
}

async function itemsOf(store: ResponseStore, key: ResponseKey): Promise<ReadonlyMap<unknown, Item>> {
  const response = await fromStore(() => store.get(key));
  return new Map([...(response?.input ?? []), ...(response?.output ?? [])].map((item) => [item.id, item]));
}
