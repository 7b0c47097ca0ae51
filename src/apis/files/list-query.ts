/** The query of a list of files. */
import type { FilePageQuery } from '../../ports/files/file-store.ts';
import { isId } from '../../protocol/ids.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { invalidField } from '../../protocol/responses/invalid.ts';

/** OpenAI's largest page, which is its default as well. */
export const MAX_LIMIT = 10_000;

/** Throws `invalid_value` naming the parameter. */
export function listQuery({ limit, order = 'desc', after, purpose }: JsonObject): FilePageQuery {
  const count = typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? Number(limit) : Number.NaN;
  if (limit !== undefined && !(count >= 1 && count <= MAX_LIMIT))
    throw invalidField('limit', `expected an integer from 1 to ${MAX_LIMIT}`);
  if (order !== 'asc' && order !== 'desc') throw invalidField('order', "supported values are: 'asc', 'desc'");
  return {
    limit: limit === undefined ? MAX_LIMIT : count,
    order,
    ...(after === undefined ? {} : { after: shortText('after', after) }),
    ...(purpose === undefined ? {} : { purpose: shortText('purpose', purpose) }),
  };
}

/** A repeated parameter is not text. */
function shortText(name: string, value: unknown): string {
  if (typeof value === 'string' && isId(value)) return value;
  throw invalidField(name, 'expected a short text');
}
