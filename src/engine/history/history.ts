/** Finds what a request refers to: the turns that it continues, and single items by their id. */

import type { Limits } from '../../ports/limits.ts';
import {
  byteBudget,
  fromStore,
  hasFailed,
  isRunning,
  isUnstored,
  type MaybePromise,
  type ResponseStore,
  type StoredResponse,
} from '../../ports/store.ts';
import { isStoreError } from '../../ports/store-error.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isResponseId, quoteId, responseIdOfItem } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord } from '../../protocol/record.ts';
import { writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { failLostRun } from './keep-turn.ts';
import { loadChain } from './load-chain.ts';
import { findRepeatedId } from './repeated-ids.ts';

/** Maximum history of one request. */
type HistoryLimits = Pick<Limits, 'historyTurns' | 'historyBytes' | 'durationMs'>;

/** A request's past. */
export interface History {
  /** The whole conversation before the request, oldest first. */
  readonly items: readonly Item[];
  /** The response that is continued. */
  readonly previous: StoredResponse | undefined;
}

const NO_HISTORY: History = { items: [], previous: undefined };

/**
 * The turns up to `previousId`. Throws `previous_response_not_found` if it is missing or in another scope,
 * `history_too_long` past the limit, `store_error` if the store fails.
 */
export function loadHistory(
  store: ResponseStore,
  scope: string,
  previousId: string | null | undefined,
  limits: HistoryLimits,
): MaybePromise<History> {
  return previousId ? loadTurns(store, scope, previousId, limits) : NO_HISTORY;
}

async function loadTurns(
  store: ResponseStore,
  scope: string,
  previousId: string,
  { historyTurns, historyBytes, durationMs }: HistoryLimits,
): Promise<History> {
  const param = 'previous_response_id';
  const refusal = (why: string) =>
    new ApiError('previous_response_not_found', `Previous response with id ${quoteId(previousId)} ${why}.`, { param });
  if (!isResponseId(previousId)) throw refusal('not found');
  // One more than allowed distinguishes a chain at the limit from one past it.
  const key = { scope, id: previousId };
  const load = () => loadChain(store, key, historyTurns + 1, historyBytes);
  const chain = await fromStore(() => load().catch(bytesRefusal(historyBytes, param)));
  const [newest] = chain;
  const previous = newest && failLostRun(newest, durationMs);
  if (!previous || isUnstored(previous)) throw refusal('not found');
  const repeated = findRepeatedId(chain);
  if (repeated !== undefined) {
    const why = `cannot be continued: the model server has given the id ${quoteId(repeated)} to several answers`;
    throw refusal(why);
  }
  // Its turn is not whole: calls in it may have no results. Clients know the code, and send the conversation itself.
  if (hasFailed(previous)) throw refusal(`cannot be continued, since its status is '${previous.resource.status}'`);
  if (isRunning(previous)) {
    const message = `Previous response with id ${quoteId(previousId)} is still in progress.`;
    throw new ApiError('response_in_progress', message, { param });
  }
  if (chain.length > historyTurns) throw historyTooLong(`${historyTurns} responses`, param);
  const items: Item[] = [];
  // Loops: `flatMap` takes ten times as long for thousands of items.
  for (const { input, output } of chain.toReversed()) {
    for (const item of input) items.push(item);
    for (const item of output) items.push(item);
  }
  return { items, previous };
}

function historyTooLong(limit: string, param: string): ApiError {
  const message = `The conversation is longer than the ${limit} that this server continues.`;
  return new ApiError('history_too_long', message, { param });
}

/** Converts an excess of bytes into the client's error; throws any other error unchanged. */
function bytesRefusal(maxBytes: number, param: string): (error: unknown) => never {
  return (error) => {
    throw isStoreError(error, 'too_many_bytes') ? historyTooLong(`${maxBytes} bytes`, param) : error;
  };
}

/** Where the items that a request refers to are searched. */
interface ReferenceSources {
  readonly store: ResponseStore;
  readonly scope: string;
  /** The response that the request continues. */
  readonly history: readonly Item[];
  /** Maximum bytes that are read and put into the input together, counting each repetition. */
  readonly maxBytes: number;
  /** Maximum number of stored responses that are read. */
  readonly maxResponses: number;
  readonly note: (note: Note) => void;
}

/**
 * The input with every `item_reference` replaced by its item, and every hosted call whose result the client lost
 * replaced by the stored one, from the history or the store. References to unknown items are noted and left out. Throws
 * `history_too_long` if they lead to more bytes, or more responses, than allowed.
 */
export function resolveReferences(
  input: readonly Item[],
  sources: () => ReferenceSources,
): MaybePromise<readonly Item[]> {
  const wanted = input.filter(needsStored);
  return wanted.length === 0 ? input : withStoredItems(input, wanted, sources());
}

async function withStoredItems(
  input: readonly Item[],
  wanted: readonly Item[],
  sources: ReferenceSources,
): Promise<readonly Item[]> {
  const find = await findItems(wanted, sources);
  const resolved: Item[] = [];
  for (const item of input) {
    if (!needsStored(item)) {
      resolved.push(item);
      continue;
    }
    const stored = find(item.id);
    if (stored) resolved.push(stored);
    else if (item.type !== 'item_reference') resolved.push(item);
    else {
      const message = `No item with id ${quoteId(item.id)} is known; the reference is skipped.`;
      sources.note({ code: 'reference_skipped', message });
    }
  }
  return resolved;
}

/** Not what is no item: that is left to the body's validation. */
function needsStored(item: Item): boolean {
  return isRecord(item) && (item.type === 'item_reference' || writtenKind(item)?.lacksResult?.(item) === true);
}

/** Finds the wanted items. A reference is a few bytes, so its item is counted at each occurrence. */
async function findItems(
  wanted: readonly Item[],
  sources: ReferenceSources,
): Promise<(id: unknown) => Item | undefined> {
  const earlier = new Map(sources.history.map((item) => [item.id, item]));
  const elsewhere = wanted.filter(({ id }) => !earlier.has(id));
  const stored = await loadStoredItems(new Set(elsewhere.map(({ id }) => String(id))), sources);
  const count = referenceByteBudget(sources.maxBytes, 'input');
  return (id) => {
    const item = earlier.get(id as string);
    // A copy: the item is repeated here, and the client's own items are distinguished from the history by identity.
    return count(item ? { ...item } : stored.get(String(id)));
  };
}

/** Those of the items that the store has. Each response that holds some is read once, and then released. */
async function loadStoredItems(
  ids: ReadonlySet<string>,
  sources: ReferenceSources,
): Promise<ReadonlyMap<string, Item>> {
  const { store, scope } = sources;
  const found = new Map<string, Item>();
  const count = referenceByteBudget(sources.maxBytes, 'input');
  const responses = new Set([...ids].map(responseIdOfItem));
  if (responses.size > sources.maxResponses) {
    const message = `The input refers to items of more than the ${sources.maxResponses} responses that this server looks into.`;
    throw new ApiError('history_too_long', message, { param: 'input' });
  }
  for (const id of responses) {
    const stored = id === undefined ? undefined : await fromStore(() => store.get({ scope, id }));
    const response = stored && !isUnstored(stored) ? stored : undefined;
    const items = count([...(response?.input ?? []), ...(response?.output ?? [])]);
    for (const item of items) {
      const itemId = String(item.id);
      if (ids.has(itemId) && responseIdOfItem(itemId) === id) found.set(itemId, item);
    }
  }
  return found;
}

/** Counts the item that a request refers to in `param`, and returns it. Throws `history_too_long` past `maxBytes`. */
export function referenceByteBudget(maxBytes: number, param: string): <Value>(value: Value) => Value {
  const budget = byteBudget(maxBytes);
  return (value) => {
    try {
      return budget.take(value);
    } catch (error) {
      return bytesRefusal(maxBytes, param)(error);
    }
  };
}
