/** Conversations in a process's memory. */

import { type ConversationStore, placeOf, type ResponseKey, type StoredConversation } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import type { Shelf } from './room.ts';

/** A conversation and its items as JSON texts, which nobody can change later and whose sizes are known exactly. */
export interface KeptConversation {
  readonly text: string;
  readonly items: readonly KeptItem[];
  readonly expiresAt: number;
}

interface KeptItem {
  readonly id: unknown;
  readonly text: string;
  readonly bytes: number;
}

/** Conversations that answer at once. */
export interface MemoryConversations extends ConversationStore {
  get(key: ResponseKey): StoredConversation | undefined;
  put(conversation: StoredConversation): void;
  delete(key: ResponseKey): boolean;
  append(key: ResponseKey, items: readonly Item[]): boolean;
  items(key: ResponseKey): readonly Item[];
  removeItem(key: ResponseKey, itemId: string): boolean;
}

/** How conversations share the room of their store. */
export interface MemoryConversationsOptions {
  readonly shelf: Shelf<KeptConversation>;
  /** When a conversation that is put or appended to now expires. */
  readonly expiry: () => number;
}

/** Keeps conversations on the shelf; each change makes one the newest there. */
export function memoryConversations({ shelf, expiry }: MemoryConversationsOptions): MemoryConversations {
  function keep(key: ResponseKey, kept: KeptConversation): void {
    shelf.keep(placeOf(key), kept, { id: key.id, bytes: bytesOf(kept), expiresAt: kept.expiresAt });
  }

  function put(conversation: StoredConversation): void {
    const items = shelf.find(placeOf(conversation))?.items ?? [];
    keep(conversation, { text: JSON.stringify(conversation), items, expiresAt: expiry() });
  }

  function append(key: ResponseKey, items: readonly Item[]): boolean {
    const found = shelf.find(placeOf(key));
    if (found) keep(key, { ...found, items: [...found.items, ...items.map(keptItem)], expiresAt: expiry() });
    return found !== undefined;
  }

  function removeItem(key: ResponseKey, itemId: string): boolean {
    const found = shelf.find(placeOf(key));
    if (!found?.items.some(({ id }) => id === itemId)) return false;
    keep(key, { ...found, items: found.items.filter(({ id }) => id !== itemId) });
    return true;
  }

  return {
    get(key) {
      const found = shelf.find(placeOf(key));
      // The cast: only `put` writes these texts.
      return found && (JSON.parse(found.text) as StoredConversation);
    },
    put,
    delete: (key) => shelf.drop(placeOf(key)),
    append,
    items: (key) => shelf.find(placeOf(key))?.items.map(({ text }): Item => JSON.parse(text)) ?? [],
    removeItem,
  };
}

function keptItem(item: Item): KeptItem {
  const text = JSON.stringify(item);
  return { id: item.id, text, bytes: Buffer.byteLength(text) };
}

function bytesOf({ text, items }: KeptConversation): number {
  return items.reduce((sum, { bytes }) => sum + bytes, Buffer.byteLength(text));
}
