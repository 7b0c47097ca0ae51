/** Filters on attributes as conditions of SQL, whose values are parameters. */
import type { AttributeFilter, Attributes } from '../../ports/vectors/attributes.ts';
import { storableChunkText } from '../vectors/chunk-texts.ts';

const SIGNS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** The attributes as `jsonb` takes them. */
export function toJsonb(attributes: Attributes): string {
  const entries = Object.entries(attributes).map(([key, value]) => [storableChunkText(key), storableValue(value)]);
  return JSON.stringify(Object.fromEntries(entries));
}

/** The condition on the column `attributes`; `add` takes a parameter and returns its place, such as `$3`. */
export function filterCondition(filter: AttributeFilter, add: (value: unknown) => string): string {
  if (!('filters' in filter)) {
    const key = `${add(storableChunkText(filter.key))}::text`;
    switch (filter.type) {
      case 'eq':
      case 'in':
        return membershipCondition(key, filter.value, add);
      case 'ne':
      case 'nin':
        return `NOT ${membershipCondition(key, filter.value, add)}`;
      default:
        return orderCondition(key, SIGNS[filter.type], filter.value, add);
    }
  }
  const parts = filter.filters.map((each) => filterCondition(each, add));
  if (parts.length === 0) return filter.type === 'and' ? 'true' : 'false';
  return `(${parts.join(filter.type === 'and' ? ' AND ' : ' OR ')})`;
}

function membershipCondition(key: string, value: unknown, add: (value: unknown) => string): string {
  const values = (Array.isArray(value) ? value : [value]).map((each) => JSON.stringify(storableValue(each)));
  return `coalesce(attributes -> ${key} = ANY (${add(values)}::text[]::jsonb[]), false)`;
}

/** A CASE checks the type before the cast: reading a text as a number would fail. */
function orderCondition(key: string, sign: string, value: string | number, add: (value: unknown) => string): string {
  const [type, cast] = typeof value === 'number' ? ['number', '::numeric'] : ['string', ' COLLATE "C"'];
  const wanted = `(${add(String(storableValue(value)))}::text)${cast}`;
  return `CASE WHEN jsonb_typeof(attributes -> ${key}) = '${type}' THEN (attributes ->> ${key})${cast} ${sign} ${wanted} ELSE false END`;
}

function storableValue(value: unknown): unknown {
  return typeof value === 'string' ? storableChunkText(value) : value;
}
