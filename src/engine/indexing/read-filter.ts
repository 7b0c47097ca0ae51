/** Reads a filter over attributes out of a request. */
import type { AttributeCombination, AttributeComparison, AttributeFilter } from '../../ports/vectors/attributes.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { invalidField } from '../../protocol/responses/invalid.ts';

const MAX_DEPTH = 8;
/** Comparisons and combinations of one filter. */
const MAX_PARTS = 100;
const MAX_VALUES = 500;
const MAX_TEXT = 512;
const MAX_KEY = 64;

const COMBINATIONS: ReadonlySet<unknown> = new Set(['and', 'or']);
/** The comparisons, and what each compares a file's attribute with. */
const COMPARISONS: Readonly<Record<string, string>> = {
  eq: 'a text, a number or a boolean',
  ne: 'a text, a number or a boolean',
  gt: 'a text or a number',
  gte: 'a text or a number',
  lt: 'a text or a number',
  lte: 'a text or a number',
  in: `a list of at most ${MAX_VALUES} texts, numbers or booleans`,
  nin: `a list of at most ${MAX_VALUES} texts, numbers or booleans`,
};

/** The filter; undefined for none. Throws `invalid_value` naming the field, such as `filters.filters[0].key`. */
export function readFilter(value: unknown, param: string): AttributeFilter | undefined {
  if (value === undefined || value === null) return undefined;
  return new FilterReader().read(value, param, 1);
}

class FilterReader {
  private parts = 0;

  read(value: unknown, param: string, depth: number): AttributeFilter {
    this.parts += 1;
    if (this.parts > MAX_PARTS) throw invalidField(param, `a filter has at most ${MAX_PARTS} parts`);
    if (depth > MAX_DEPTH) throw invalidField(param, `filters are nested at most ${MAX_DEPTH} deep`);
    if (!isRecord(value)) throw invalidField(param, 'expected a filter, which is an object');
    return COMBINATIONS.has(value.type) ? this.combination(value, param, depth) : readComparison(value, param);
  }

  private combination({ type, filters }: JsonObject, param: string, depth: number): AttributeCombination {
    if (!Array.isArray(filters) || filters.length > MAX_PARTS)
      throw invalidField(`${param}.filters`, `expected a list of at most ${MAX_PARTS} filters`);
    const read = filters.map((each, at) => this.read(each, `${param}.filters[${at}]`, depth + 1));
    // The cast: looked up just before.
    return { type: type as 'and' | 'or', filters: read };
  }
}

function readComparison({ type, key, value }: JsonObject, param: string): AttributeComparison {
  const expected = typeof type === 'string' && Object.hasOwn(COMPARISONS, type) ? COMPARISONS[type] : undefined;
  if (expected === undefined) {
    const names = [...Object.keys(COMPARISONS), 'and', 'or'].join(', ');
    throw invalidField(`${param}.type`, `supported values are: ${names}`);
  }
  if (typeof key !== 'string' || key.length > MAX_KEY)
    throw invalidField(`${param}.key`, `expected a text of at most ${MAX_KEY} characters`);
  const isList = type === 'in' || type === 'nin';
  const takesBooleans = isList || type === 'eq' || type === 'ne';
  const values: readonly unknown[] = isList && Array.isArray(value) ? value : [value];
  const areValid = values.slice(0, MAX_VALUES).every((each) => {
    if (typeof each === 'string') return each.length <= MAX_TEXT;
    return Number.isFinite(each) || (takesBooleans && typeof each === 'boolean');
  });
  if (!areValid || values.length > MAX_VALUES || (isList && !Array.isArray(value)))
    throw invalidField(`${param}.value`, `expected ${expected}`);
  // The cast: the value fits its type, as tested just before.
  return { type, key, value } as AttributeComparison;
}
