/** The query of a list of files. */
import type { FilePageQuery } from '../../ports/files/file-store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isId } from '../../protocol/ids.ts';
import type { JsonObject } from '../../protocol/record.ts';

/** OpenAI's largest page, which is its default as well. */
const MAX_LIMIT = 10_000;

/** Throws `invalid_value` naming the parameter. */
export function listQuery({ limit, order, after, purpose }: JsonObject): FilePageQuery {
  return {
    limit: limitOf(limit),
    order: orderOf(order),
    ...(after === undefined ? {} : { after: textOf('after', after) }),
    ...(purpose === undefined ? {} : { purpose: textOf('purpose', purpose) }),
  };
}

function limitOf(value: unknown): number {
  if (value === undefined) return MAX_LIMIT;
  const limit = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw invalid('limit', `expected an integer from 1 to ${MAX_LIMIT}`);
}

function orderOf(value: unknown): 'asc' | 'desc' {
  if (value === undefined || value === 'desc') return 'desc';
  if (value === 'asc') return 'asc';
  throw invalid('order', "supported values are: 'asc', 'desc'");
}

/** A repeated parameter is not text. */
function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' && isId(value)) return value;
  throw invalid(name, 'expected a short text');
}

function invalid(name: string, why: string): ApiError {
  return new ApiError('invalid_value', `Invalid '${name}': ${why}.`, { param: name });
}
