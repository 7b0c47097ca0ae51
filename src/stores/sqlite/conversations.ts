/** Conversations in SQLite: one row for each, and one for each of their items. */

import {
  type AppendAnswer,
  type AppendTerms,
  type ItemPage,
  type ItemPageQuery,
  markMeasured,
  type ResponseKey,
  type StoredConversation,
} from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import type { Item } from '../../protocol/items.ts';
import { appendPlan, type TurnPart } from '../append-plan.ts';
import { prepareStatements, readRows, runStatement, type SqliteDatabase } from './database.ts';
import { keyColumns } from './responses.ts';

interface ConversationRow {
  readonly number: number;
  readonly body: string;
  /** Bytes of the JSON of its items. */
  readonly bytes: number;
}

interface ItemRow {
  readonly body: string;
}

/** The conditions of an append, its time, and the conversation's new expiry. */
interface TimedAppend extends AppendTerms {
  readonly now: number;
  readonly expiresAt: number;
}

/** The queries and changes of the store; the caller provides times and transactions. */
export class SqliteConversations {
  private readonly statements: ReturnType<typeof prepareConversations>;

  constructor(database: SqliteDatabase) {
    this.statements = prepareConversations(database);
  }

  get(key: ResponseKey, now: number): StoredConversation | undefined {
    const row = this.row(key, now);
    // The cast: only `put` writes these texts.
    return row && (JSON.parse(row.body) as StoredConversation);
  }

  put(conversation: StoredConversation, now: number, expiresAt: number): void {
    // An expired conversation that still exists would pass its items to the new one.
    if (!this.row(conversation, now)) this.remove(this.row(conversation, Number.MIN_SAFE_INTEGER));
    this.upsert(conversation, expiresAt);
  }

  update(conversation: StoredConversation, now: number, expiresAt: number): boolean {
    if (!this.row(conversation, now)) return false;
    this.upsert(conversation, expiresAt);
    return true;
  }

  delete(key: ResponseKey, now: number): boolean {
    return this.remove(this.row(key, now));
  }

  append(key: ResponseKey, items: readonly Item[], terms: TimedAppend): AppendAnswer {
    const { now, expiresAt, maxBytes = Number.POSITIVE_INFINITY, turn } = terms;
    const row = this.row(key, now);
    if (!row) return false;
    const part = turn && this.partOf(row, turn.id);
    const plan = appendPlan(items, terms, { has: (id) => this.placeOf(row, id) !== undefined, part });
    if (plan === true || typeof plan === 'string') return plan;
    const texts = plan.added.map((item) => JSON.stringify(item));
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), this.bytesWithout(row, plan.replaced));
    if (texts.length > 0 && bytes > maxBytes) return 'full';
    const { prolong, add, removeItem, setPart } = this.statements;
    for (const id of plan.replaced) removeItem.run(row.number, itemIdColumn(id));
    prolong.run(expiresAt, bytes, row.number);
    for (const [index, text] of texts.entries()) add.run(row.number, itemIdColumn(plan.added[index]?.id), text);
    if (turn && plan.part) setPart.run(row.number, turn.id, plan.part.epoch, JSON.stringify(plan.part.ids));
    return true;
  }

  items(key: ResponseKey, now: number, maxBytes = Number.POSITIVE_INFINITY): readonly Item[] {
    const row = this.row(key, now);
    if (row && Number(row.bytes) > maxBytes) throw tooManyBytes(maxBytes);
    return markMeasured(row ? readRows<ItemRow>(this.statements.items, row.number).map(parseItemRow) : [], maxBytes);
  }

  page(key: ResponseKey, { limit, order, after, before }: ItemPageQuery, now: number): ItemPage {
    const row = this.row(key, now);
    if (!row) return { items: [], hasMore: false };
    const [first, last] = order === 'asc' ? [0, Number.MAX_SAFE_INTEGER] : [Number.MAX_SAFE_INTEGER, 0];
    const from = after === undefined ? first : this.placeOf(row, after);
    const to = before === undefined ? last : this.placeOf(row, before);
    if (from === undefined) return { items: [], hasMore: false, unknown: 'after' };
    if (to === undefined) return { items: [], hasMore: false, unknown: 'before' };
    const { pageUp, pageDown } = this.statements;
    // One more row than requested shows whether others follow.
    const rows =
      order === 'asc'
        ? readRows<ItemRow>(pageUp, row.number, from, to, limit + 1)
        : readRows<ItemRow>(pageDown, row.number, to, from, limit + 1);
    return { items: rows.slice(0, limit).map(parseItemRow), hasMore: rows.length > limit };
  }

  find(key: ResponseKey, itemIds: readonly string[], now: number): readonly Item[] {
    const row = this.row(key, now);
    if (!row) return [];
    return itemIds
      .flatMap((id) => readRows<ItemRow>(this.statements.item, row.number, itemIdColumn(id)))
      .map(parseItemRow);
  }

  removeItem(key: ResponseKey, itemId: string, now: number): boolean {
    const row = this.row(key, now);
    if (!row) return false;
    this.statements.shrink.run(row.number, itemIdColumn(itemId), row.number);
    return runStatement(this.statements.removeItem, row.number, itemIdColumn(itemId));
  }

  /** Removes one expired conversation, with its items. */
  sweep(now: number): void {
    this.remove(readRows<ConversationRow>(this.statements.expired, now)[0]);
  }

  private row(key: ResponseKey, now: number): ConversationRow | undefined {
    return readRows<ConversationRow>(this.statements.find, ...keyColumns(key), now)[0];
  }

  private remove(row: ConversationRow | undefined): boolean {
    if (!row) return false;
    this.statements.removeItems.run(row.number);
    this.statements.removeParts.run(row.number);
    return runStatement(this.statements.remove, row.number);
  }

  private upsert(conversation: StoredConversation, expiresAt: number): void {
    this.statements.upsert.run(...keyColumns(conversation), expiresAt, JSON.stringify(conversation));
  }

  /** The bytes of a conversation's items without these. */
  private bytesWithout({ number, bytes }: ConversationRow, itemIds: readonly string[]): number {
    const sizes = itemIds.map((id) =>
      readRows<{ readonly bytes: number }>(this.statements.size, number, itemIdColumn(id)),
    );
    return sizes.flat().reduce((left, size) => left - Number(size.bytes), Number(bytes));
  }

  private partOf({ number }: ConversationRow, turnId: string): TurnPart | undefined {
    const [row] = readRows<{ readonly epoch: number; readonly ids: string }>(this.statements.part, number, turnId);
    return row && { epoch: Number(row.epoch), ids: JSON.parse(row.ids) };
  }

  /** The place of the first item of this id; undefined where there is none. */
  private placeOf({ number }: ConversationRow, itemId: string): number | undefined {
    return readRows<{ readonly place: number }>(this.statements.place, number, itemIdColumn(itemId))[0]?.place;
  }
}

function prepareConversations(database: SqliteDatabase) {
  const table = 'open_responses_conversations';
  const items = 'open_responses_items';
  const parts = 'open_responses_turn_parts';
  // An earlier release may have added an id twice: the page after the second one would begin at the first one again.
  const first = `(id IS NULL OR NOT EXISTS (SELECT 1 FROM ${items} AS earlier WHERE earlier.conversation = own.conversation
    AND earlier.id = own.id AND earlier.place < own.place))`;
  return prepareStatements(database, {
    find: `SELECT number, body, bytes FROM ${table} WHERE scope = ? AND id = ? AND expires_at > ?`,
    expired: `SELECT number, body, bytes FROM ${table} WHERE expires_at <= ? LIMIT 1`,
    upsert: `INSERT INTO ${table} (scope, id, expires_at, body) VALUES (?, ?, ?, ?)
       ON CONFLICT (scope, id) DO UPDATE SET expires_at = excluded.expires_at, body = excluded.body`,
    prolong: `UPDATE ${table} SET expires_at = ?, bytes = ? WHERE number = ?`,
    remove: `DELETE FROM ${table} WHERE number = ?`,
    add: `INSERT INTO ${items} (conversation, id, body) VALUES (?, ?, ?)`,
    items: `SELECT body FROM ${items} WHERE conversation = ? ORDER BY place`,
    item: `SELECT body FROM ${items} WHERE conversation = ? AND id = ? ORDER BY place LIMIT 1`,
    place: `SELECT place FROM ${items} WHERE conversation = ? AND id = ? ORDER BY place LIMIT 1`,
    pageUp: `SELECT body FROM ${items} AS own WHERE conversation = ? AND place > ? AND place < ? AND ${first}
       ORDER BY place LIMIT ?`,
    pageDown: `SELECT body FROM ${items} AS own WHERE conversation = ? AND place > ? AND place < ? AND ${first}
       ORDER BY place DESC LIMIT ?`,
    shrink: `UPDATE ${table} SET bytes = bytes - (SELECT coalesce(sum(length(CAST(body AS BLOB))), 0)
         FROM ${items} WHERE conversation = ? AND id = ?) WHERE number = ?`,
    removeItem: `DELETE FROM ${items} WHERE conversation = ? AND id = ?`,
    size: `SELECT length(CAST(body AS BLOB)) AS bytes FROM ${items} WHERE conversation = ? AND id = ?`,
    part: `SELECT epoch, ids FROM ${parts} WHERE conversation = ? AND turn = ?`,
    setPart: `INSERT INTO ${parts} (conversation, turn, epoch, ids) VALUES (?, ?, ?, ?)
       ON CONFLICT (conversation, turn) DO UPDATE SET epoch = excluded.epoch, ids = excluded.ids`,
    removeParts: `DELETE FROM ${parts} WHERE conversation = ?`,
    removeItems: `DELETE FROM ${items} WHERE conversation = ?`,
  });
}

/** Null for an item that has no id. */
function itemIdColumn(id: Item['id']): string | null {
  return typeof id === 'string' ? JSON.stringify(id) : null;
}

function parseItemRow({ body }: ItemRow): Item {
  return JSON.parse(body);
}
