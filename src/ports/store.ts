/** The port that stores finished responses and finds them again. */
import { ApiError } from '../protocol/errors.ts';
import type { Item } from '../protocol/items.ts';
import { leastBytes } from '../protocol/json/json-size.ts';
import { isPromise } from '../protocol/record.ts';
import type { EventLog } from './background/event-log.ts';
import type { MaybePromise, ResponseKey } from './background/response-key.ts';
import { withTimeout } from './host/in-time.ts';
import { tooManyBytes } from './store-error.ts';

export type { MaybePromise, ResponseKey } from './background/response-key.ts';

/** One stored turn: its own input and output, never its ancestors', so that N turns cost N rows. */
export interface StoredResponse extends ResponseKey {
  /** The response that this one continues. */
  readonly previousId?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch; a store may set or shorten it by its own `ttlMs`. */
  readonly expiresAt?: number | undefined;
  /** The items that the request brought. */
  readonly input: readonly Item[];
  /** The items that the turn added. */
  readonly output: readonly Item[];
  /** The response resource without its `output`. */
  readonly resource: Readonly<Record<string, unknown>>;
  /**
   * Counts the changes since the first `put`, a whole number; absent means 0. The writer sets it, the store keeps it.
   */
  readonly version?: number | undefined;
}

/**
 * Stores responses. A method that fails rejects; the core turns that into a `store_error`. `put` stores a copy: later
 * changes to the object must not show.
 */
export interface ResponseStore {
  /** A short name for messages and the status, such as `redis`. */
  readonly name: string;
  /** The response, or undefined if it is missing, expired or in another scope. */
  get(key: ResponseKey): MaybePromise<StoredResponse | undefined>;
  /** Stores the response; when it resolves, every reader sees it. */
  put(response: StoredResponse): MaybePromise<void>;
  /**
   * Replaces the stored response if that has this version; returns whether it did. Check and put are one step for every
   * process. A response that is missing, deleted, expired or in another scope is not created. Without this method the
   * core reads and then puts, and of two nodes that end one response at the same time the later wins, even over a
   * delete.
   */
  readonly replace?: ((response: StoredResponse, version: number) => MaybePromise<boolean>) | undefined;
  /** Whether there was one to delete; of several deletes at the same time one returns true. */
  delete(key: ResponseKey): MaybePromise<boolean>;
  /**
   * The response and its ancestors, newest first, at most `limit` of them, in one round trip; shorter if an ancestor is
   * missing. Without it the core walks with `get`. Throws a `StoreError` (`too_many_bytes`) if they take more than `maxBytes` of JSON as
   * the store keeps it, without reading the rest; no bound if that is absent.
   */
  readonly chain?:
    | ((key: ResponseKey, limit: number, maxBytes?: number) => MaybePromise<readonly StoredResponse[]>)
    | undefined;
  /** Conversations; a store without them serves everything else. */
  readonly conversations?: ConversationStore | undefined;
  /** The events of responses that outlive their requests; a store without it serves everything else. */
  readonly events?: EventLog | undefined;
  /**
   * The time by the clock of the database that processes share, in milliseconds since the epoch. With it a process whose own
   * clock is wrong begins no responses in the background, which others would take for over.
   */
  readonly time?: (() => MaybePromise<number>) | undefined;
  /** Releases the store's resources. May be called twice. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** A stored conversation, without its items. */
export interface StoredConversation extends ResponseKey {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The client's own names and values. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The page of a conversation's items to read. */
export interface ItemPageQuery {
  /** The maximum number of items. */
  readonly limit: number;
  /** `asc` begins with the oldest. */
  readonly order: 'asc' | 'desc';
  /** The id of an item: only the items after it, in this order. */
  readonly after?: string | undefined;
  /** The id of an item: only the items before it, in this order. */
  readonly before?: string | undefined;
}

/** Some items of a conversation, in the requested order. */
export interface ItemPage {
  /** At most `limit` of them. */
  readonly items: readonly Item[];
  /** Whether more items follow, up to `before`. */
  readonly hasMore: boolean;
  /** Which of the two ids matches no item; then there are no items. */
  readonly unknown?: 'after' | 'before' | undefined;
}

/** The conditions of an append. */
export interface AppendTerms {
  /** The maximum bytes of the conversation's items afterwards, of JSON as the store keeps it; no bound if absent. */
  readonly maxBytes?: number | undefined;
  /** `refuse` adds nothing if an id is there already; by default such an item alone is left out. */
  readonly onKnown?: 'skip' | 'refuse' | undefined;
  /** Set for a turn that several processes may run one after the other. */
  readonly turn?: TurnFence | undefined;
}

/**
 * Keeps the additions of a turn that was taken over apart from those of the process that lost it. The store remembers
 * the highest epoch of each turn and what it added: an append with a higher epoch replaces that, one with a lower epoch
 * is `overruled`, and a repetition with the same epoch changes nothing. Without items, the append takes back what was
 * added in this epoch and before.
 */
export interface TurnFence {
  /** The response's id. */
  readonly id: string;
  /** Higher for each process that takes the turn over; 0 or more. */
  readonly epoch: number;
}

/**
 * Whether there is such a conversation; `full` if it would exceed `maxBytes`, `known` if an id is refused, `overruled`
 * if a later process runs the turn.
 */
export type AppendAnswer = boolean | 'full' | 'known' | 'overruled';

/** Stores conversations: lists of items that turns append to. The rules of `ResponseStore` apply. */
export interface ConversationStore {
  /** The conversation, or undefined if it is missing, expired or in another scope. */
  get(key: ResponseKey): MaybePromise<StoredConversation | undefined>;
  /** Creates the conversation, or replaces its metadata and keeps its items. */
  put(conversation: StoredConversation): MaybePromise<void>;
  /**
   * Replaces the metadata of an existing conversation, in one step; returns whether there was one. Without it the core
   * reads and then puts, which restores a conversation that is deleted at that moment.
   */
  readonly update?: ((conversation: StoredConversation) => MaybePromise<boolean>) | undefined;
  /** Deletes the conversation and its items. Returns whether there was one. */
  delete(key: ResponseKey): MaybePromise<boolean>;
  /**
   * Appends the items whose ids the conversation does not hold yet, in this order and with no other items between them.
   * Looking and adding are one step for every process: no two items of a conversation share an id. Any answer but
   * `true` means that nothing was changed.
   */
  append(key: ResponseKey, items: readonly Item[], terms?: AppendTerms): MaybePromise<AppendAnswer>;
  /**
   * All items, oldest first; none if there is no such conversation. Throws a `StoreError` (`too_many_bytes`), without reading them, if
   * they take more than `maxBytes` of JSON as the store keeps it.
   */
  items(key: ResponseKey, maxBytes?: number): MaybePromise<readonly Item[]>;
  /**
   * One page of the items, at a cost that grows with the page and not with the conversation. Without it the core reads
   * all.
   */
  readonly page?: ((key: ResponseKey, query: ItemPageQuery) => MaybePromise<ItemPage>) | undefined;
  /**
   * The items with these ids, in any order, one for each id; at a cost that grows with their number alone. Without it
   * the core reads all.
   */
  readonly find?: ((key: ResponseKey, itemIds: readonly string[]) => MaybePromise<readonly Item[]>) | undefined;
  /** Removes the items with this id. Returns whether there were any. */
  removeItem(key: ResponseKey, itemId: string): MaybePromise<boolean>;
}

/** A store, or a part of one, that has each of its optional methods. */
export type WithAll<Store> = { [Name in keyof Store]-?: NonNullable<Store[Name]> };

/** One string for scope and id; the length prefix keeps ("a", "b:c") and ("a:b", "c") apart. */
export function storeKey({ scope, id }: ResponseKey): string {
  return `${scope.length}:${scope}:${id}`;
}

/** Whether the response is still running in the background. */
export function isRunning({ resource: { status } }: Pick<StoredResponse, 'resource'>): boolean {
  return status === 'in_progress' || status === 'queued';
}

/**
 * Whether it has ended without a whole answer, from which a conversation cannot continue. A response is stored in this
 * state only if it runs in the background.
 */
export function hasFailed({ resource: { status } }: Pick<StoredResponse, 'resource'>): boolean {
  return status === 'failed' || status === 'cancelled';
}

/**
 * Whether it is stored only so that its client can retrieve it: run in the background with `store: false`. It cannot be
 * continued.
 */
export function isUnstored({ resource }: Pick<StoredResponse, 'resource'>): boolean {
  return resource.background === true && resource.store === false;
}

/** How often the response was changed since its first put. */
export function storedVersion({ version = 0 }: Pick<StoredResponse, 'version'>): number {
  return version;
}

/** Replaces the response of this version; returns whether that was still stored. */
export async function replaceVersion(
  store: ResponseStore,
  response: StoredResponse,
  version: number,
): Promise<boolean> {
  if (store.replace) return store.replace(response, version);
  const kept = await store.get(response);
  if (!kept || storedVersion(kept) !== version) return false;
  await store.put(response);
  return true;
}

/**
 * Changes what is stored under the key in one step, and returns it as it is then; undefined if nothing is there. Nothing changes
 * where `edit` returns undefined; it is called again, `tries` times at most, where somebody else was faster. Throws `store_error`.
 */
export async function changeStored(
  store: ResponseStore,
  key: ResponseKey,
  edit: (stored: StoredResponse) => StoredResponse | undefined,
  tries: number,
): Promise<StoredResponse | undefined> {
  for (let left = tries; left > 0; left -= 1) {
    const stored = await fromStore(() => store.get(key));
    const edited = stored && edit(stored);
    if (!stored || !edited) return stored;
    const version = storedVersion(stored);
    const changed = { ...edited, version: version + 1 };
    if (await fromStore(() => replaceVersion(store, changed, version))) return changed;
  }
  const cause = new Error('Others change the same record all the time.');
  throw new ApiError('store_error', 'The store of responses failed.', { cause });
}

/** The chain of `key`, newest first, by the store's own query or by walking. Throws a `StoreError` (`too_many_bytes`). */
export async function readChain(
  store: ResponseStore,
  key: ResponseKey,
  limit: number,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<readonly StoredResponse[]> {
  if (store.chain) return checkListBytes(await store.chain(key, limit, maxBytes), maxBytes);
  const room = byteBudget(maxBytes);
  const chain: StoredResponse[] = [];
  for (let id: string | undefined = key.id; id !== undefined && chain.length < limit; ) {
    const stored: StoredResponse | undefined = await store.get({ scope: key.scope, id });
    if (stored) chain.push(room.take(stored));
    id = stored?.previousId;
  }
  return chain;
}

/** Lists that a store has measured, each with the bytes that it was allowed. */
const measured = new WeakMap<readonly unknown[], number>();

/** Marks a list as one that a store has read within `maxBytes`, so that `bounded` need not measure it again. */
export function markMeasured<List extends readonly unknown[]>(list: List, maxBytes = Number.POSITIVE_INFINITY): List {
  measured.set(list, maxBytes);
  return list;
}

/** The list; throws a `StoreError` (`too_many_bytes`) past `maxBytes`. Measured here if need be: a host's store may not implement the bound. */
export function checkListBytes<List extends readonly unknown[]>(list: List, maxBytes: number): List {
  const isMeasured = (measured.get(list) ?? Number.POSITIVE_INFINITY) <= maxBytes;
  return isMeasured ? list : byteBudget(maxBytes).take(list);
}

/** A budget of JSON bytes; `take` throws a `StoreError` (`too_many_bytes`) when it is used up. */
export function byteBudget(maxBytes: number): { take<Value>(value: Value): Value } {
  let left = maxBytes;
  return {
    take(value) {
      if (left === Number.POSITIVE_INFINITY) return value;
      left -= leastBytes(value, left);
      if (left < 0) throw tooManyBytes(maxBytes);
      return value;
    },
  };
}

/** The store with a timeout of `timeoutMs` for each call: a dead database must not delay requests for longer. */
export function boundedStore(store: ResponseStore, timeoutMs: number): ResponseStore {
  const { name, replace, chain, close, conversations, events, time } = store;
  const within = <Value>(answer: MaybePromise<Value>) =>
    withTimeout(answer, timeoutMs, () => `The store '${name}' did not answer within ${timeoutMs} ms.`);
  return {
    name,
    get: (key) => within(store.get(key)),
    put: (response) => within(store.put(response)),
    delete: (key) => within(store.delete(key)),
    ...(replace ? { replace: (response, version) => within(replace.call(store, response, version)) } : {}),
    ...(chain ? { chain: (key, limit, maxBytes) => within(chain.call(store, key, limit, maxBytes)) } : {}),
    ...(conversations ? { conversations: boundedConversations(conversations, within) } : {}),
    ...(events ? { events: boundedEvents(events, within) } : {}),
    ...(time ? { time: () => within(time.call(store)) } : {}),
    ...(close ? { close: () => close.call(store) } : {}),
  };
}

function boundedConversations(
  store: ConversationStore,
  within: <Value>(answer: MaybePromise<Value>) => MaybePromise<Value>,
): ConversationStore {
  const { update, page, find } = store;
  return {
    get: (key) => within(store.get(key)),
    put: (conversation) => within(store.put(conversation)),
    delete: (key) => within(store.delete(key)),
    append: (key, items, terms) => within(store.append(key, items, terms)),
    items: (key, maxBytes) => within(store.items(key, maxBytes)),
    removeItem: (key, itemId) => within(store.removeItem(key, itemId)),
    ...(update ? { update: (conversation) => within(update.call(store, conversation)) } : {}),
    ...(page ? { page: (key, query) => within(page.call(store, key, query)) } : {}),
    ...(find ? { find: (key, itemIds) => within(find.call(store, key, itemIds)) } : {}),
  };
}

function boundedEvents(log: EventLog, within: <Value>(answer: MaybePromise<Value>) => MaybePromise<Value>): EventLog {
  return {
    isShared: log.isShared,
    begin: (key, made) => within(log.begin(key, made)),
    append: (key, append) => within(log.append(key, append)),
    claim: (key, epoch) => within(log.claim(key, epoch)),
    end: (key, epoch, until) => within(log.end(key, epoch, until)),
    read: (key, after, maxBytes) => within(log.read(key, after, maxBytes)),
    heads: (keys) => within(log.heads(keys)),
    delete: (key) => within(log.delete(key)),
  };
}

/** Calls the store; any failure becomes a `store_error`. */
export async function fromStore<T>(run: () => MaybePromise<T>): Promise<T> {
  try {
    const answer = run();
    return isPromise(answer) ? await answer : answer;
  } catch (cause) {
    throw storeFailure(cause);
  }
}

/** What a store threw, as an error of the API. */
export function storeFailure(cause: unknown): ApiError {
  return cause instanceof ApiError ? cause : new ApiError('store_error', 'The store of responses failed.', { cause });
}
