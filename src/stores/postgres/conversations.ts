/** Conversations in PostgreSQL: a row each, and a row for each item. */

import type { ConversationStore, ResponseKey, StoredConversation } from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { digestOf, type PostgresPlace } from './responses.ts';
import { fieldOf, type PostgresTables } from './schema.ts';

/** Keeps conversations, each for `ttlMs` from its last `put` or `append`. */
export function postgresConversations({ queries, tables, ttlMs, now }: PostgresPlace): ConversationStore {
  const sql = statements(tables);
  const ask = async (text: string, { scope, id }: ResponseKey, ...more: readonly unknown[]) =>
    (await queries.query(text, [digestOf(scope), digestOf(id), now(), ...more])).rows;

  return {
    async get(key) {
      const text = fieldOf(await ask(sql.get, key), 'conversation');
      // The cast: only `put` writes these texts.
      return typeof text === 'string' ? (JSON.parse(text) as StoredConversation) : undefined;
    },
    async put(conversation) {
      // Or an expired one that is still there would give the new one its items.
      await ask(sql.deleteExpired, conversation);
      const values = [digestOf(conversation.scope), digestOf(conversation.id), now() + ttlMs];
      await queries.query(sql.put, [...values, JSON.stringify(conversation)]);
    },
    async delete(key) {
      return (await ask(sql.delete, key)).length > 0;
    },
    async append(key, items) {
      const texts = items.map((item) => JSON.stringify(item));
      return (await ask(sql.append, key, now() + ttlMs, items.map(digestOfId), texts)).length > 0;
    },
    async items(key) {
      // The casts: this is the column that is asked for, and only `append` writes it.
      return (await ask(sql.items, key)).map((row) => JSON.parse((row as { readonly item: string }).item) as Item);
    },
    async removeItem(key, itemId) {
      return (await ask(sql.removeItem, key, digestOf(itemId))).length > 0;
    },
  };
}

function digestOfId({ id }: Item): Uint8Array | null {
  return typeof id === 'string' ? digestOf(id) : null;
}

/** $1 and $2 are scope and id, $3 is the time, but for `put`, where it is when the conversation expires. */
function statements({ conversations, items }: PostgresTables) {
  const living = 'scope = $1 AND id = $2 AND expires_at > $3';
  return {
    get: `SELECT conversation FROM ${conversations} WHERE ${living}`,
    deleteExpired: `DELETE FROM ${conversations} WHERE scope = $1 AND id = $2 AND expires_at <= $3`,
    put: `
      INSERT INTO ${conversations} (scope, id, expires_at, conversation) VALUES ($1, $2, $3, $4)
      ON CONFLICT (scope, id) DO UPDATE SET expires_at = excluded.expires_at, conversation = excluded.conversation`,
    delete: `DELETE FROM ${conversations} WHERE ${living} RETURNING 1`,
    // The UPDATE locks the row until the items are in, so appends take their places one after the other.
    append: `
      WITH owner AS (
        UPDATE ${conversations} SET expires_at = $4, item_count = item_count + cardinality($6::text[])
        WHERE ${living} RETURNING item_count - cardinality($6::text[]) AS behind
      ), added AS (
        INSERT INTO ${items} (scope, id, place, item_id, item)
        SELECT $1, $2, behind + place, item_id, item
        FROM owner, unnest($5::bytea[], $6::text[]) WITH ORDINALITY AS new (item_id, item, place)
      )
      SELECT 1 FROM owner`,
    items: `
      SELECT item FROM ${items} WHERE scope = $1 AND id = $2
      AND EXISTS (SELECT 1 FROM ${conversations} WHERE ${living}) ORDER BY place`,
    removeItem: `
      DELETE FROM ${items} WHERE scope = $1 AND id = $2 AND item_id = $4
      AND EXISTS (SELECT 1 FROM ${conversations} WHERE ${living}) RETURNING 1`,
  };
}
