/** Conversations in PostgreSQL: one row each, and one row for each item. */

import {
  type AppendAnswer,
  type AppendTerms,
  type ConversationStore,
  type ItemPage,
  type ItemPageQuery,
  markMeasured,
  type ResponseKey,
  type StoredConversation,
  type WithAll,
} from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import type { Item } from '../../protocol/items.ts';
import { boundedInteger, digestBytes } from '../store-parts.ts';
import type { PostgresPlace } from './responses.ts';
import { firstField, type PostgresTables } from './schema.ts';

/** The store's methods for conversations. */
export type ConversationMethods = WithAll<ConversationStore>;

/** Keeps conversations, each for `ttlMs` from its last `put` or `append`. */
export function postgresConversations({ queries, tables, ttlMs, now }: PostgresPlace): ConversationMethods {
  const sql = conversationStatements(tables);
  const run = async (text: string, { scope, id }: ResponseKey, ...more: readonly unknown[]) =>
    (await queries.query(text, [digestBytes(scope), digestBytes(id), now(), ...more])).rows;

  async function append(key: ResponseKey, items: readonly Item[], terms: AppendTerms = {}): Promise<AppendAnswer> {
    const { maxBytes, onKnown, turn } = terms;
    const texts = items.map((item) => JSON.stringify(item));
    const ids = items.map(({ id }) => (typeof id === 'string' ? digestBytes(id) : null));
    const fence = [turn ? digestBytes(turn.id) : null, turn?.epoch ?? 0];
    const values = [ids, texts, boundedInteger(maxBytes), onKnown === 'refuse', ...fence];
    for (let tries = 0; tries < MAX_APPEND_TRIES; tries += 1) {
      const rows = await run(sql.append, key, now() + ttlMs, ...values);
      const answer = firstField(rows, 'answer');
      if (rows.length === 0) return false;
      if (answer === 'full' || answer === 'known' || answer === 'overruled') return answer;
      if (answer === 'repeated' || firstField(rows, 'is_done') === true) return true;
    }
    throw new Error('postgresStore: a conversation changes so often that nothing can be added to it');
  }

  async function page(key: ResponseKey, { limit, order, after, before }: ItemPageQuery): Promise<ItemPage> {
    const ids = [after, before].map((id) => (id === undefined ? null : digestBytes(id)));
    // One more row than requested shows whether others follow.
    const rows = await run(order === 'asc' ? sql.pageUp : sql.pageDown, key, ...ids, limit + 1);
    const unknown = firstField(rows, 'unknown');
    if (unknown === 'after' || unknown === 'before') return { items: [], hasMore: false, unknown };
    const items = parseItemRows(rows);
    return { items: items.slice(0, limit), hasMore: items.length > limit };
  }

  return {
    async get(key) {
      const text = firstField(await run(sql.get, key), 'conversation');
      // The cast: only `put` writes these texts.
      return typeof text === 'string' ? (JSON.parse(text) as StoredConversation) : undefined;
    },
    async put(conversation) {
      // An expired conversation that still exists would pass its items to the new one.
      await run(sql.deleteExpired, conversation);
      const values = [digestBytes(conversation.scope), digestBytes(conversation.id), now() + ttlMs];
      await queries.query(sql.put, [...values, JSON.stringify(conversation)]);
    },
    async update(conversation) {
      return (await run(sql.update, conversation, now() + ttlMs, JSON.stringify(conversation))).length > 0;
    },
    async delete(key) {
      return (await run(sql.delete, key)).length > 0;
    },
    append,
    async items(key, maxBytes) {
      const rows = await run(sql.items, key, boundedInteger(maxBytes));
      if (firstField(rows, 'is_too_much') === true) throw tooManyBytes(Number(maxBytes));
      return markMeasured(parseItemRows(rows), maxBytes);
    },
    page,
    async find(key, itemIds) {
      return parseItemRows(await run(sql.find, key, itemIds.map(digestBytes)));
    },
    async removeItem(key, itemId) {
      return (await run(sql.removeItem, key, digestBytes(itemId))).length > 0;
    },
  };
}

/** An append fails only because another one succeeds, so that this many are never needed. */
const MAX_APPEND_TRIES = 1000;

function parseItemRows(rows: readonly unknown[]): readonly Item[] {
  // The casts: this is the selected column, empty in a row without an item, and only `append` writes it.
  const texts = rows.map((row) => (row as { readonly item: string | null }).item);
  return texts.filter((text) => text !== null).map((text) => JSON.parse(text) as Item);
}

/** $1 and $2 are scope and id, $3 is the time, except in `put`, where it is the conversation's expiry. */
function conversationStatements({ conversations, items, turns }: PostgresTables) {
  const living = 'scope = $1 AND id = $2 AND expires_at > $3';
  const owner = `SELECT 1 FROM ${conversations} WHERE ${living}`;
  return {
    get: `SELECT conversation FROM ${conversations} WHERE ${living}`,
    deleteExpired: `DELETE FROM ${conversations} WHERE scope = $1 AND id = $2 AND expires_at <= $3`,
    put: `
      INSERT INTO ${conversations} (scope, id, expires_at, conversation) VALUES ($1, $2, $3, $4)
      ON CONFLICT (scope, id) DO UPDATE SET expires_at = excluded.expires_at, conversation = excluded.conversation`,
    update: `UPDATE ${conversations} SET expires_at = $4, conversation = $5 WHERE ${living} RETURNING 1`,
    delete: `DELETE FROM ${conversations} WHERE ${living} RETURNING 1`,
    // What it reads is of one moment, and the UPDATE fails if the conversation has changed since: the caller then tries
    // again. A lock before the reading would need several statements, and stay while a process is stopped between them.
    append: `
      WITH seen AS MATERIALIZED (SELECT item_count, changes, item_bytes FROM ${conversations} WHERE ${living}),
      part AS MATERIALIZED (SELECT epoch, item_ids FROM ${turns} WHERE scope = $1 AND id = $2 AND turn = $9),
      replaced AS MATERIALIZED (
        SELECT own.row, own.item_id, octet_length(own.item) AS bytes FROM part
        CROSS JOIN unnest(part.item_ids) AS written (item_id)
        CROSS JOIN LATERAL ${rowsWithId(items, 'written.item_id')} AS own
      ), offered AS MATERIALIZED (
        SELECT item_id, item, place, row_number() OVER (PARTITION BY item_id ORDER BY place) AS number
        FROM unnest($5::bytea[], $6::text[]) WITH ORDINALITY AS new (item_id, item, place)
      ), wanted AS MATERIALIZED (
        SELECT item_id, item, row_number() OVER (ORDER BY place) AS place FROM offered
        WHERE item_id IS NULL OR (number = 1 AND (
          NOT EXISTS ${rowsWithId(items, 'offered.item_id')} OR item_id IN (SELECT item_id FROM replaced)
        ))
      ), size AS MATERIALIZED (
        SELECT count(*) AS items, coalesce(sum(octet_length(item)), 0)
          - (SELECT coalesce(sum(bytes), 0) FROM replaced) AS bytes FROM wanted
      ), verdict AS MATERIALIZED (
        SELECT CASE
          WHEN $10::bigint < (SELECT epoch FROM part) THEN 'overruled'
          WHEN $10::bigint = (SELECT epoch FROM part) AND (SELECT cardinality(item_ids) FROM part) > 0
            AND cardinality($6::text[]) > 0 THEN 'repeated'
          WHEN $8::boolean AND size.items < cardinality($6::text[]) THEN 'known'
          WHEN size.items > 0 AND item_bytes + size.bytes > $7::bigint THEN 'full'
          ELSE 'add' END AS answer
        FROM seen, size
      ), owner AS (
        UPDATE ${conversations} SET expires_at = $4, changes = changes + 1,
          item_count = item_count + (SELECT items FROM size), item_bytes = item_bytes + (SELECT bytes FROM size)
        WHERE ${living} AND (SELECT answer FROM verdict) = 'add'
          AND item_count = (SELECT item_count FROM seen) AND changes = (SELECT changes FROM seen)
        RETURNING item_count - (SELECT items FROM size) AS behind
      ), gone AS (
        DELETE FROM ${items} WHERE ctid = ANY (ARRAY (SELECT row FROM replaced CROSS JOIN owner))
      ), added AS (
        INSERT INTO ${items} (scope, id, place, item_id, item)
        SELECT $1, $2, behind + place, item_id, item FROM owner, wanted
      ), kept AS (
        INSERT INTO ${turns} (scope, id, turn, epoch, item_ids)
        SELECT $1, $2, $9::bytea, $10::bigint,
          ARRAY (SELECT item_id FROM wanted WHERE item_id IS NOT NULL) FROM owner WHERE $9::bytea IS NOT NULL
        ON CONFLICT (scope, id, turn) DO UPDATE SET epoch = excluded.epoch, item_ids = excluded.item_ids
      )
      SELECT answer, EXISTS (SELECT 1 FROM owner) AS is_done FROM verdict`,
    items: `
      SELECT item_bytes > $4::bigint AS is_too_much, item
      FROM (SELECT item_bytes FROM ${conversations} WHERE ${living}) AS owner
      LEFT JOIN ${items} ON scope = $1 AND id = $2 AND item_bytes <= $4::bigint ORDER BY place`,
    pageUp: itemPageSql(items, owner, 'asc'),
    pageDown: itemPageSql(items, owner, 'desc'),
    find: `
      SELECT first.item FROM unnest($4::bytea[]) AS wanted (item_id) CROSS JOIN LATERAL (
        SELECT item FROM ${rowsWithId(items, 'wanted.item_id')} AS known ORDER BY place LIMIT 1
      ) AS first
      WHERE EXISTS (${owner})`,
    // Locks the conversation first, as append and delete do, to avoid a deadlock.
    removeItem: `
      WITH owner AS (${owner} FOR UPDATE),
      gone AS (
        DELETE FROM ${items} WHERE ctid = ANY (ARRAY (SELECT row FROM ${rowsWithId(items, '$4')} AS known CROSS JOIN owner))
        RETURNING octet_length(item) AS bytes
      ), less AS (
        UPDATE ${conversations}
        SET changes = changes + 1, item_bytes = item_bytes - (SELECT sum(bytes) FROM gone)
        WHERE ${living} AND EXISTS (SELECT 1 FROM gone)
      )
      SELECT 1 FROM gone`,
  };
}

/**
 * The rows of an item of the conversation, by the digest of its id; more than one if an earlier release has added it twice. By themselves (OFFSET), and
 * by the expression of an index: in a join, or by the columns, a planner that takes the conversation for short would read all of it.
 */
function rowsWithId(items: string, itemId: string): string {
  return `(SELECT ctid AS row, place, item_id, item FROM ${items} AS named
    WHERE named.scope || named.id || named.item_id = $1::bytea || $2::bytea || ${itemId}::bytea OFFSET 0)`;
}

/** $4 and $5 are the digests of `after` and `before`, $6 is the number of items. */
function itemPageSql(items: string, owner: string, order: 'asc' | 'desc'): string {
  // Bounds instead of `IS NULL OR`, for which no index is used.
  const [low, high] = order === 'asc' ? ['start', 'finish'] : ['finish', 'start'];
  const placeOf = (itemId: string) => `(SELECT min(place) FROM ${rowsWithId(items, itemId)} AS known)`;
  // An earlier release may have added an id twice: the page after the second one would begin at the first one again.
  const first = `(item_id IS NULL OR place = ${placeOf('own.item_id')})`;
  return `
    WITH edges AS (SELECT ${placeOf('$4')} AS start, ${placeOf('$5')} AS finish),
    named AS (
      SELECT start, finish, CASE WHEN $4::bytea IS NOT NULL AND start IS NULL THEN 'after'
        WHEN $5::bytea IS NOT NULL AND finish IS NULL THEN 'before' END AS unknown
      FROM edges WHERE EXISTS (${owner})
    )
    SELECT unknown, found.item FROM named LEFT JOIN LATERAL (
      SELECT place, item FROM ${items} AS own WHERE scope = $1 AND id = $2 AND unknown IS NULL AND ${first}
        AND place > coalesce(${low}, 0) AND place < coalesce(${high}, ${Number.MAX_SAFE_INTEGER})
      ORDER BY place ${order} LIMIT $6
    ) AS found ON true ORDER BY found.place ${order}`;
}
