/** Filters on attributes as conditions of SQL, whose values are parameters. */
import type { AttributeComparison, AttributeFilter, Attributes } from '../../ports/vectors/attributes.ts';
import { keepable } from '../shared/chunk-texts.ts';

const SIGNS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** The attributes as `jsonb` takes them. */
export function jsonbOf(attributes: Attributes): string {
  const entries = Object.entries(attributes).map(([key, value]) => [keepable(key), kept(value)]);
  return JSON.stringify(Object.fromEntries(entries));
}

/** The condition on the column `attributes`; `add` takes a parameter and returns its place, such as `$3`. */
export function conditionOf(filter: AttributeFilter, add: (value: unknown) => string): string {
  if (!('filters' in filter)) return comparisonOf(filter, add);
  const parts = filter.filters.map((each) => conditionOf(each, add));
  if (parts.length === 0) return filter.type === 'and' ? 'true' : 'false';
  return `(${parts.join(filter.type === 'and' ? ' AND ' : ' OR ')})`;
}

function comparisonOf(filter: AttributeComparison, add: (value: unknown) => string): string {
  const key = `${add(keepable(filter.key))}::text`;
  switch (filter.type) {
    case 'eq':
    case 'in':
      return isOneOf(key, filter.value, add);
    case 'ne':
    case 'nin':
      return `NOT ${isOneOf(key, filter.value, add)}`;
    default:
      return inOrder(key, SIGNS[filter.type], filter.value, add);
  }
}

function isOneOf(key: string, value: unknown, add: (value: unknown) => string): string {
  const values = (Array.isArray(value) ? value : [value]).map((each) => JSON.stringify(kept(each)));
  return `coalesce(attributes -> ${key} = ANY (${add(values)}::text[]::jsonb[]), false)`;
}

/** A CASE checks the type before the cast: reading a text as a number would fail. */
function inOrder(key: string, sign: string, value: string | number, add: (value: unknown) => string): string {
  const [type, cast] = typeof value === 'number' ? ['number', '::numeric'] : ['string', ' COLLATE "C"'];
  const wanted = `(${add(String(kept(value)))}::text)${cast}`;
  return `CASE WHEN jsonb_typeof(attributes -> ${key}) = '${type}' THEN (attributes ->> ${key})${cast} ${sign} ${wanted} ELSE false END`;
}

function kept(value: unknown): unknown {
  return typeof value === 'string' ? keepable(value) : value;
}
