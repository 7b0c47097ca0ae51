/** The port through which finished responses are kept and found again. */
import { ApiError } from '../protocol/errors.ts';
import type { Item } from '../protocol/items.ts';
import { isPromise } from '../protocol/record.ts';

/** A value now or later; memory answers now, a database later. */
export type MaybePromise<T> = T | Promise<T>;

/** Whose response, and which: no store method takes an id without its scope. */
export interface ResponseKey {
  /** The tenant, as the `scope` option gives it. */
  readonly scope: string;
  readonly id: string;
}

/** One turn at rest: its own input and output, never its ancestors', so that N turns cost N rows. */
export interface StoredResponse extends ResponseKey {
  /** The response that this one continues. */
  readonly previousId?: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch; a store may set or shorten it by its own `ttlMs`. */
  readonly expiresAt?: number;
  readonly input: readonly Item[];
  readonly output: readonly Item[];
  /** The response resource without its `output`. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/**
 * Where responses are kept. A method that fails rejects; the core turns that into a `store_error`.
 * What was put is a copy: later changes to the object must not show.
 */
export interface ResponseStore {
  readonly name: string;
  /** The response, or undefined where it is missing, expired or another scope's. */
  get(key: ResponseKey): MaybePromise<StoredResponse | undefined>;
  /** Keeps the response; when it resolves, every reader sees it. */
  put(response: StoredResponse): MaybePromise<void>;
  /** Whether there was one to delete; of several deletes at the same time one is answered true. */
  delete(key: ResponseKey): MaybePromise<boolean>;
  /**
   * The response and its ancestors, newest first, at most `limit` of them, in one round trip; shorter where an
   * ancestor is missing. Without it the core walks with `get`.
   */
  chain?(key: ResponseKey, limit: number): MaybePromise<readonly StoredResponse[]>;
  /** Conversations; a store without them serves everything but those. */
  readonly conversations?: ConversationStore;
  /** Releases what the store holds. May be called twice. */
  close?(): MaybePromise<void>;
}

/** A conversation at rest, without its items. */
export interface StoredConversation extends ResponseKey {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Where conversations are kept: lists of items that turns are added to. The rules of `ResponseStore` hold. */
export interface ConversationStore {
  get(key: ResponseKey): MaybePromise<StoredConversation | undefined>;
  /** Makes the conversation, or replaces its metadata and leaves its items as they are. */
  put(conversation: StoredConversation): MaybePromise<void>;
  /** Deletes the conversation and its items. Whether there was one. */
  delete(key: ResponseKey): MaybePromise<boolean>;
  /**
   * Adds the items behind all others, in this order and with nobody else's between them, however many processes do so
   * at once. Whether there is such a conversation.
   */
  append(key: ResponseKey, items: readonly Item[]): MaybePromise<boolean>;
  /** All items, oldest first; none where there is no such conversation. */
  items(key: ResponseKey): MaybePromise<readonly Item[]>;
  /** Removes the items with this id. Whether there were any. */
  removeItem(key: ResponseKey, itemId: string): MaybePromise<boolean>;
}

/** One string for scope and id; the length in front keeps ("a", "b:c") and ("a:b", "c") apart. */
export function placeOf({ scope, id }: ResponseKey): string {
  return `${scope.length}:${scope}:${id}`;
}

/** Whether the response is still being made, in the background. */
export function isRunning({ resource: { status } }: Pick<StoredResponse, 'resource'>): boolean {
  return status === 'in_progress' || status === 'queued';
}

/** The chain of `key`, newest first, by the store's own query or by walking. */
export async function chainOf(
  store: ResponseStore,
  key: ResponseKey,
  limit: number,
): Promise<readonly StoredResponse[]> {
  if (store.chain) return store.chain(key, limit);
  const chain: StoredResponse[] = [];
  for (let id: string | undefined = key.id; id !== undefined && chain.length < limit; ) {
    const stored: StoredResponse | undefined = await store.get({ scope: key.scope, id });
    if (stored) chain.push(stored);
    id = stored?.previousId;
  }
  return chain;
}

/** The store, each of whose answers takes `timeoutMs` at most: a dead database must not hold requests up. */
export function boundedStore(store: ResponseStore, timeoutMs: number): ResponseStore {
  const { name, chain, close, conversations } = store;
  const within = <Value>(answer: MaybePromise<Value>) => bounded(answer, name, timeoutMs);
  return {
    name,
    get: (key) => within(store.get(key)),
    put: (response) => within(store.put(response)),
    delete: (key) => within(store.delete(key)),
    ...(chain ? { chain: (key, limit) => within(chain.call(store, key, limit)) } : {}),
    ...(conversations ? { conversations: boundedConversations(conversations, within) } : {}),
    ...(close ? { close: () => close.call(store) } : {}),
  };
}

function boundedConversations(
  store: ConversationStore,
  within: <Value>(answer: MaybePromise<Value>) => MaybePromise<Value>,
): ConversationStore {
  return {
    get: (key) => within(store.get(key)),
    put: (conversation) => within(store.put(conversation)),
    delete: (key) => within(store.delete(key)),
    append: (key, items) => within(store.append(key, items)),
    items: (key) => within(store.items(key)),
    removeItem: (key, itemId) => within(store.removeItem(key, itemId)),
  };
}

/** What is answered at once costs no timer. */
function bounded<Value>(answer: MaybePromise<Value>, name: string, timeoutMs: number): MaybePromise<Value> {
  if (!isPromise(answer)) return answer;
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`The store '${name}' did not answer within ${timeoutMs} ms.`));
    const timer = setTimeout(late, timeoutMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Asks the store; whatever it fails with becomes a `store_error`. */
export async function fromStore<T>(ask: () => MaybePromise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw new ApiError('store_error', 'The store of responses failed.', { cause });
  }
}
