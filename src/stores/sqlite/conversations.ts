/** Conversations in SQLite: one row for each, and one for each of their items. */

import type { ResponseKey, StoredConversation } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { changes, rowsOf, type SqliteDatabase } from './database.ts';
import { columnsOf } from './responses.ts';

interface ConversationRow {
  readonly number: number;
  readonly body: string;
}

/** The questions and changes that the store is made of; the caller brings times and transactions. */
export interface SqliteConversations {
  get(key: ResponseKey, now: number): StoredConversation | undefined;
  put(conversation: StoredConversation, now: number, expiresAt: number): void;
  delete(key: ResponseKey, now: number): boolean;
  append(key: ResponseKey, items: readonly Item[], now: number, expiresAt: number): boolean;
  items(key: ResponseKey, now: number): readonly Item[];
  removeItem(key: ResponseKey, itemId: string, now: number): boolean;
  /** Removes one of those that expired, with its items. */
  sweep(now: number): void;
}

/** Prepares the statements. */
export function sqliteConversations(database: SqliteDatabase): SqliteConversations {
  const statements = prepare(database);

  function find(key: ResponseKey, now: number): ConversationRow | undefined {
    return rowsOf<ConversationRow>(statements.find, ...columnsOf(key), now)[0];
  }

  function remove(row: ConversationRow | undefined): boolean {
    if (!row) return false;
    statements.removeItems.run(row.number);
    return changes(statements.remove, row.number);
  }

  function append(key: ResponseKey, items: readonly Item[], now: number, expiresAt: number): boolean {
    const row = find(key, now);
    if (!row) return false;
    statements.prolong.run(expiresAt, row.number);
    for (const item of items) statements.add.run(row.number, idColumn(item.id), JSON.stringify(item));
    return true;
  }

  return {
    get(key, now) {
      const row = find(key, now);
      // The cast: only `put` writes these texts.
      return row && (JSON.parse(row.body) as StoredConversation);
    },
    put(conversation, now, expiresAt) {
      // One that expired is another: its items must not come back.
      if (!find(conversation, now)) remove(find(conversation, Number.MIN_SAFE_INTEGER));
      statements.upsert.run(...columnsOf(conversation), expiresAt, JSON.stringify(conversation));
    },
    delete: (key, now) => remove(find(key, now)),
    append,
    items: (key, now) => rowsOf<{ readonly body: string }>(statements.items, ...columnsOf(key), now).map(itemFrom),
    removeItem: (key, itemId, now) => changes(statements.removeItem, idColumn(itemId), ...columnsOf(key), now),
    sweep: (now) => void remove(rowsOf<ConversationRow>(statements.expired, now)[0]),
  };
}

function prepare(database: SqliteDatabase) {
  const table = 'open_responses_conversations';
  return {
    find: database.prepare(`SELECT number, body FROM ${table} WHERE scope = ? AND id = ? AND expires_at > ?`),
    expired: database.prepare(`SELECT number, body FROM ${table} WHERE expires_at <= ? LIMIT 1`),
    upsert: database.prepare(
      `INSERT INTO ${table} (scope, id, expires_at, body) VALUES (?, ?, ?, ?)
       ON CONFLICT (scope, id) DO UPDATE SET expires_at = excluded.expires_at, body = excluded.body`,
    ),
    prolong: database.prepare(`UPDATE ${table} SET expires_at = ? WHERE number = ?`),
    remove: database.prepare(`DELETE FROM ${table} WHERE number = ?`),
    add: database.prepare('INSERT INTO open_responses_items (conversation, id, body) VALUES (?, ?, ?)'),
    items: database.prepare(
      `SELECT item.body AS body FROM ${table} AS found CROSS JOIN open_responses_items AS item
       ON item.conversation = found.number WHERE found.scope = ? AND found.id = ? AND found.expires_at > ?
       ORDER BY item.place`,
    ),
    removeItem: database.prepare(
      `DELETE FROM open_responses_items WHERE id = ? AND conversation =
         (SELECT number FROM ${table} WHERE scope = ? AND id = ? AND expires_at > ?)`,
    ),
    removeItems: database.prepare('DELETE FROM open_responses_items WHERE conversation = ?'),
  };
}

/** Null for an item that has no id. */
function idColumn(id: Item['id']): string | null {
  return typeof id === 'string' ? JSON.stringify(id) : null;
}

function itemFrom({ body }: { readonly body: string }): Item {
  return JSON.parse(body);
}
