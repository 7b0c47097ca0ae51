/** OpenAI's paged lists: `limit`, `order`, `after`, `before`. */

import type { ItemPage, ItemPageQuery } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { quoteId } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { wholeItem } from '../../protocol/responses/whole-item.ts';
import { queryPresenter } from '../../protocol/tool-calls/kinds.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/**
 * One page of the items, which are given oldest first, as the client receives them; the newest are listed first unless
 * `order` is `asc`.
 */
export function itemPage(
  items: readonly Item[],
  query: JsonObject,
  presentItem = queryPresenter(query, true),
): JsonObject {
  return toItemList(selectPage(items, pageQuery(query)), query, presentItem);
}

/** The query's paging parameters. Throws `invalid_value`. */
export function pageQuery({ limit, order, after, before }: JsonObject): ItemPageQuery {
  const number = typeof limit === 'string' && /^\d+$/.test(limit) ? Number(limit) : Number.NaN;
  if (limit !== undefined && !(number >= 1 && number <= MAX_LIMIT))
    throw new ApiError('invalid_value', `Invalid 'limit': expected an integer from 1 to ${MAX_LIMIT}.`, {
      param: 'limit',
    });
  if (order !== undefined && order !== 'asc' && order !== 'desc')
    throw new ApiError('invalid_value', "Invalid 'order': supported values are: 'asc', 'desc'.", { param: 'order' });
  return {
    limit: limit === undefined ? DEFAULT_LIMIT : number,
    order: order ?? 'desc',
    after: readCursor(after),
    before: readCursor(before),
  };
}

/** An item, or any other object that a list is made of. */
interface Identified {
  readonly id?: string | null;
}

/** One page of a list; `unknown` names the parameter whose object is not there. */
interface Page<Entry> {
  readonly items: readonly Entry[];
  readonly hasMore: boolean;
  readonly unknown?: 'after' | 'before';
}

/** The page of these items, which are given oldest first. */
export function selectPage<Entry extends Identified>(
  items: readonly Entry[],
  { limit, order, after, before }: ItemPageQuery,
): Page<Entry> {
  const once = withoutRepeatedIds(items);
  const ordered = order === 'asc' ? once : once.toReversed();
  const indexOf = (id: string) => ordered.findIndex((item) => item.id === id);
  const last = after === undefined ? -1 : indexOf(after);
  const to = before === undefined ? ordered.length : indexOf(before);
  if (after !== undefined && last < 0) return { items: [], hasMore: false, unknown: 'after' };
  if (to < 0) return { items: [], hasMore: false, unknown: 'before' };
  const found = ordered.slice(last + 1, Math.min(to, last + 1 + limit));
  return { items: found, hasMore: last + 1 + found.length < to };
}

/**
 * The items without those that repeat the id of an earlier one: the page after the second of them would begin behind
 * the first one again, and paging would never end.
 */
export function withoutRepeatedIds<Entry extends Identified>(items: readonly Entry[]): readonly Entry[] {
  const ids = new Set<string>();
  return items.filter(({ id }) => {
    if (typeof id !== 'string') return true;
    const isFirst = !ids.has(id);
    ids.add(id);
    return isFirst;
  });
}

/** OpenAI's list of the page, as the client receives it. Throws `item_not_found` if the query names an unknown item. */
export function toItemList(
  { items, hasMore, unknown }: ItemPage,
  query: JsonObject,
  presentItem = queryPresenter(query, true),
): JsonObject {
  if (unknown) {
    const message = `No item found with id ${quoteId(query[unknown])}.`;
    throw new ApiError('item_not_found', message, { param: unknown });
  }
  return listResource(
    items.map((item) => wholeItem(presentItem(item))),
    hasMore,
  );
}

/** OpenAI's list of objects with an `id`. */
export function listResource(data: readonly JsonObject[], hasMore: boolean): JsonObject {
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return { object: 'list', data, ...ends, has_more: hasMore };
}

/** A value that is not text, such as a repeated parameter, matches no item. */
function readCursor(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : '';
}
