/** Conversations in the process's memory. */

import { limitScope } from '../../ports/scope.ts';
import {
  type AppendAnswer,
  type AppendTerms,
  type ConversationStore,
  type ItemPage,
  type ItemPageQuery,
  markMeasured,
  type ResponseKey,
  type StoredConversation,
  storeKey,
} from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import type { Item } from '../../protocol/items.ts';
import { appendPlan, type TurnPart } from '../append-plan.ts';
import type { Cache } from './cache-budget.ts';

/** A conversation and its items as JSON texts, which are immutable and whose sizes are known exactly. */
interface ConversationEntry {
  readonly text: string;
  readonly items: ItemList;
  readonly expiresAt: number;
}

/** Conversations with synchronous methods. */
export interface MemoryConversations extends ConversationStore {
  get(key: ResponseKey): StoredConversation | undefined;
  put(conversation: StoredConversation): void;
  update(conversation: StoredConversation): boolean;
  delete(key: ResponseKey): boolean;
  append(key: ResponseKey, items: readonly Item[], terms?: AppendTerms): AppendAnswer;
  items(key: ResponseKey, maxBytes?: number): readonly Item[];
  page(key: ResponseKey, query: ItemPageQuery): ItemPage;
  find(key: ResponseKey, itemIds: readonly string[]): readonly Item[];
  removeItem(key: ResponseKey, itemId: string): boolean;
}

/** How conversations share the byte budget of their store. */
interface MemoryConversationsOptions {
  readonly cache: Cache<ConversationEntry>;
  /** The expiry of a conversation that is put or appended to now. */
  readonly expiry: () => number;
}

/** Stores conversations in the cache; each change makes a conversation the newest there. */
export function memoryConversations({ cache, expiry }: MemoryConversationsOptions): MemoryConversations {
  const find = (key: ResponseKey) => cache.find(storeKey(key));

  function store(key: ResponseKey, entry: ConversationEntry, addedBytes = 0): void {
    const bytes = Buffer.byteLength(entry.text) + entry.items.bytes + addedBytes;
    cache.put(storeKey(key), entry, { id: key.id, tenant: limitScope(key.scope), bytes, expiresAt: entry.expiresAt });
  }

  function put(conversation: StoredConversation): void {
    const items = find(conversation)?.items ?? new ItemList();
    store(conversation, { text: JSON.stringify(conversation), items, expiresAt: expiry() });
  }

  function update(conversation: StoredConversation): boolean {
    const found = find(conversation);
    if (found) put(conversation);
    return found !== undefined;
  }

  function append(key: ResponseKey, items: readonly Item[], terms: AppendTerms = {}): AppendAnswer {
    const { maxBytes = Number.POSITIVE_INFINITY, turn } = terms;
    const found = find(key);
    if (!found) return false;
    const list = found.items;
    const part = turn && list.part(turn.id);
    const plan = appendPlan(items, terms, { has: (id) => list.has(id), part });
    if (plan === true || typeof plan === 'string') return plan;
    const added = plan.added.map(toItemText);
    const addedBytes = added.reduce((sum, { bytes }) => sum + bytes, 0) - list.sumBytes(plan.replaced);
    if (added.length > 0 && list.jsonBytes + addedBytes > maxBytes) return 'full';
    // First, because it may throw.
    store(key, { ...found, expiresAt: expiry() }, addedBytes + (turn && !part ? PART_BYTES : 0));
    for (const id of plan.replaced) list.remove(id);
    list.add(added);
    if (turn && plan.part) list.setPart(turn.id, plan.part);
    return true;
  }

  function removeItem(key: ResponseKey, itemId: string): boolean {
    const found = find(key);
    if (!found?.items.remove(itemId)) return false;
    store(key, found);
    return true;
  }

  return {
    get(key) {
      const found = find(key);
      // The cast: only `put` writes these texts.
      return found && (JSON.parse(found.text) as StoredConversation);
    },
    put,
    update,
    delete: (key) => cache.remove(storeKey(key)),
    append,
    items(key, maxBytes = Number.POSITIVE_INFINITY) {
      const { items } = find(key) ?? {};
      if (items && items.jsonBytes > maxBytes) throw tooManyBytes(maxBytes);
      return markMeasured(items?.all() ?? [], maxBytes);
    },
    page: (key, query) => find(key)?.items.page(query) ?? { items: [], hasMore: false },
    find: (key, itemIds) => find(key)?.items.find(itemIds) ?? [],
    removeItem,
  };
}

interface ItemText {
  readonly id: unknown;
  readonly text: string;
  readonly bytes: number;
}

/** The position of the item with an id, and its bytes; of those without an id, the first position and all bytes. */
interface Place {
  readonly at: number;
  readonly bytes: number;
}

/** About what the part of a turn takes besides its items. */
const PART_BYTES = 100;

/** The items of one conversation, oldest first, no two of which share an id, and which turns added them. */
class ItemList {
  private list: ItemText[] = [];
  /** Undefined after removed items have left the list, which moves those behind them, until it is needed. */
  private places: Map<unknown, Place> | undefined = new Map();
  /** Ids of removed items that are still in the list, because thousands may be removed one by one. */
  private readonly removed = new Set<unknown>();
  private sum = 0;
  private readonly parts = new Map<string, TurnPart>();

  /** Bytes of JSON of all items. */
  get jsonBytes(): number {
    return this.sum;
  }

  /** The same, and about what is remembered of turns. */
  get bytes(): number {
    return this.sum + this.parts.size * PART_BYTES;
  }

  has(itemId: string): boolean {
    return this.placeOf(itemId) !== undefined;
  }

  sumBytes(itemIds: readonly string[]): number {
    return itemIds.reduce((sum, id) => sum + (this.placeOf(id)?.bytes ?? 0), 0);
  }

  part(turnId: string): TurnPart | undefined {
    return this.parts.get(turnId);
  }

  setPart(turnId: string, part: TurnPart): void {
    this.parts.set(turnId, part);
  }

  add(items: readonly ItemText[]): void {
    this.tidy();
    for (const item of items) {
      if (this.places) addPlace(this.places, item, this.list.length);
      this.list.push(item);
      this.sum += item.bytes;
    }
  }

  /** Returns whether there was one with this id. */
  remove(itemId: string): boolean {
    const found = this.placeOf(itemId);
    if (!found) return false;
    this.sum -= found.bytes;
    this.places?.delete(itemId);
    this.removed.add(itemId);
    return true;
  }

  all(): readonly Item[] {
    this.tidy();
    return this.list.map(parseItemText);
  }

  find(itemIds: readonly string[]): readonly Item[] {
    const places = itemIds.map((id) => this.placeOf(id)).filter((found) => found !== undefined);
    return places.flatMap(({ at }) => this.list.slice(at, at + 1)).map(parseItemText);
  }

  page({ limit, order, after, before }: ItemPageQuery): ItemPage {
    this.tidy();
    const named = { after: this.edge(after), before: this.edge(before) };
    if (after !== undefined && named.after === undefined) return { items: [], hasMore: false, unknown: 'after' };
    if (before !== undefined && named.before === undefined) return { items: [], hasMore: false, unknown: 'before' };
    // A range of the list in either order: the wanted items are after `start` and before `end`.
    const start = (order === 'asc' ? named.after : named.before) ?? -1;
    const end = (order === 'asc' ? named.before : named.after) ?? this.list.length;
    const [from, to] =
      order === 'asc'
        ? [start + 1, Math.min(end, start + 1 + limit)]
        : [Math.max(start + 1, end - limit), Math.max(start + 1, end)];
    const items = this.list.slice(from, to).map(parseItemText);
    return { items: order === 'asc' ? items : items.reverse(), hasMore: end - start - 1 > limit };
  }

  private edge(id: string | undefined): number | undefined {
    return id === undefined ? undefined : this.placeOf(id)?.at;
  }

  private placeOf(id: string): Place | undefined {
    if (!this.places) {
      this.places = new Map();
      for (const [at, item] of this.list.entries()) addPlace(this.places, item, at);
    }
    return this.places.get(id);
  }

  private tidy(): void {
    if (this.removed.size === 0) return;
    this.list = this.list.filter(({ id }) => !this.removed.has(id));
    this.removed.clear();
    this.places = undefined;
  }
}

function addPlace(places: Map<unknown, Place>, { id, bytes }: ItemText, at: number): void {
  const first = places.get(id);
  places.set(id, first ? { at: first.at, bytes: first.bytes + bytes } : { at, bytes });
}

function toItemText(item: Item): ItemText {
  const text = JSON.stringify(item);
  return { id: item.id, text, bytes: Buffer.byteLength(text) };
}

function parseItemText({ text }: ItemText): Item {
  return JSON.parse(text);
}
