/** The attributes that clients give to files in vector stores, and the filters over them. */

/** At most 16 values by key. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A filter that was checked: its depth and the number of its parts are bounded. */
export type AttributeFilter = AttributeComparison | AttributeCombination;

/** Compares one attribute. A file without it matches `ne` and `nin` only; values of different types are never equal, greater or less. */
export type AttributeComparison =
  | Comparison<'eq' | 'ne', string | number | boolean>
  | Comparison<'gt' | 'gte' | 'lt' | 'lte', string | number>
  | Comparison<'in' | 'nin', readonly (string | number | boolean)[]>;

/** One comparison. */
export interface Comparison<Type, Value> {
  /** How the values are compared. */
  readonly type: Type;
  /** The attribute's key. */
  readonly key: string;
  /** What it is compared with. */
  readonly value: Value;
}

/** All or any of the filters; `and` of none matches every file, `or` of none matches no file. */
export interface AttributeCombination {
  /** Whether all or any must match. */
  readonly type: 'and' | 'or';
  /** Its parts. */
  readonly filters: readonly AttributeFilter[];
}

/** Whether a file with these attributes matches. Strings are compared by their UTF-8 bytes. */
export function matches(filter: AttributeFilter, attributes: Attributes): boolean {
  if ('filters' in filter) {
    const { type, filters } = filter;
    const isMatch = (each: AttributeFilter) => matches(each, attributes);
    return type === 'and' ? filters.every(isMatch) : filters.some(isMatch);
  }
  const value = Object.hasOwn(attributes, filter.key) ? attributes[filter.key] : undefined;
  switch (filter.type) {
    case 'in':
      return isAmong(filter.value, value);
    case 'nin':
      return !isAmong(filter.value, value);
    case 'eq':
      return value === filter.value;
    case 'ne':
      return value !== filter.value;
    default:
      return isInOrder(filter.type, compare(value, filter.value));
  }
}

/** The lists of filters as sets, made once: a filter may hold 50,000 values, and it is compared with thousands of files. */
const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>();

function isAmong(values: readonly unknown[], value: unknown): boolean {
  const set = sets.get(values) ?? new Set(values);
  sets.set(values, set);
  return set.has(value);
}

/** Undefined for values that have no order. */
function compare(one: string | number | boolean | undefined, other: string | number): number | undefined {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return undefined;
}

function isInOrder(type: 'gt' | 'gte' | 'lt' | 'lte', order: number | undefined): boolean {
  if (order === undefined) return false;
  if (order === 0) return type === 'gte' || type === 'lte';
  return order > 0 === (type === 'gt' || type === 'gte');
}
