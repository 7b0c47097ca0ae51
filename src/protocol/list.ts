/** OpenAI's paged lists: `limit`, `order`, `after`, `before`. */
import { queryShower } from './code-outputs.ts';
import { ApiError } from './errors.ts';
import type { Item } from './items.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

type Fields = Readonly<Record<string, unknown>>;

/** One page of the items, which come oldest first, as the client is shown them; the newest come first unless `order` is `asc`. */
export function page(items: readonly Item[], query: Fields, show = queryShower(query)): Fields {
  const limit = limitOf(query.limit);
  const ordered = orderOf(query.order) === 'asc' ? items : items.toReversed();
  const from = query.after === undefined ? 0 : indexOf(ordered, query.after, 'after') + 1;
  const to = query.before === undefined ? ordered.length : indexOf(ordered, query.before, 'before');
  const data = ordered.slice(from, Math.min(to, from + limit)).map(show);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + data.length < to,
  };
}

function limitOf(value: unknown): number {
  if (value === undefined) return DEFAULT_LIMIT;
  const limit = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new ApiError('invalid_value', `Invalid 'limit': expected an integer from 1 to ${MAX_LIMIT}.`, {
    param: 'limit',
  });
}

function orderOf(value: unknown): 'asc' | 'desc' {
  if (value === undefined || value === 'desc') return 'desc';
  if (value === 'asc') return 'asc';
  throw new ApiError('invalid_value', "Invalid 'order': supported values are: 'asc', 'desc'.", { param: 'order' });
}

function indexOf(items: readonly Item[], id: unknown, param: string): number {
  const index = items.findIndex((item) => item.id === id);
  if (index >= 0) return index;
  throw new ApiError('item_not_found', `No item found with id '${String(id)}'.`, { param });
}
