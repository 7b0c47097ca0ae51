/** Reads a filter over attributes out of a request. */
import type { AttributeCombination, AttributeComparison, AttributeFilter } from '../../ports/vectors/attributes.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

const DEEPEST = 8;
/** Comparisons and combinations of one filter. */
const MOST_PARTS = 100;
const MOST_VALUES = 500;
const LONGEST_TEXT = 512;
const LONGEST_KEY = 64;

const COMBINATIONS: ReadonlySet<unknown> = new Set(['and', 'or']);
const COMPARISONS: Readonly<Record<string, { readonly value: string; test(value: unknown): boolean }>> = {
  eq: { value: 'a text, a number or a boolean', test: isValue },
  ne: { value: 'a text, a number or a boolean', test: isValue },
  gt: { value: 'a text or a number', test: isOrdered },
  gte: { value: 'a text or a number', test: isOrdered },
  lt: { value: 'a text or a number', test: isOrdered },
  lte: { value: 'a text or a number', test: isOrdered },
  in: { value: `a list of at most ${MOST_VALUES} texts, numbers or booleans`, test: isList },
  nin: { value: `a list of at most ${MOST_VALUES} texts, numbers or booleans`, test: isList },
};

/** The filter; undefined for none. Throws `invalid_value` naming the field, such as `filters.filters[0].key`. */
export function readFilter(given: unknown, param: string): AttributeFilter | undefined {
  if (given === undefined || given === null) return undefined;
  return new FilterReader().read(given, param, 1);
}

class FilterReader {
  private parts = 0;

  read(given: unknown, param: string, depth: number): AttributeFilter {
    this.parts += 1;
    if (this.parts > MOST_PARTS) throw wrong(param, `a filter has at most ${MOST_PARTS} parts`);
    if (depth > DEEPEST) throw wrong(param, `filters are nested at most ${DEEPEST} deep`);
    if (!isRecord(given)) throw wrong(param, 'expected a filter, which is an object');
    return COMBINATIONS.has(given.type) ? this.combination(given, param, depth) : comparison(given, param);
  }

  private combination({ type, filters }: JsonObject, param: string, depth: number): AttributeCombination {
    if (!Array.isArray(filters) || filters.length > MOST_PARTS)
      throw wrong(`${param}.filters`, `expected a list of at most ${MOST_PARTS} filters`);
    const read = filters.map((each, at) => this.read(each, `${param}.filters[${at}]`, depth + 1));
    // The cast: looked up just before.
    return { type: type as 'and' | 'or', filters: read };
  }
}

function comparison({ type, key, value }: JsonObject, param: string): AttributeComparison {
  const kind = typeof type === 'string' && Object.hasOwn(COMPARISONS, type) ? COMPARISONS[type] : undefined;
  if (!kind)
    throw wrong(`${param}.type`, `supported values are: ${[...Object.keys(COMPARISONS), 'and', 'or'].join(', ')}`);
  if (typeof key !== 'string' || key.length > LONGEST_KEY)
    throw wrong(`${param}.key`, `expected a text of at most ${LONGEST_KEY} characters`);
  if (!kind.test(value)) throw wrong(`${param}.value`, `expected ${kind.value}`);
  // The cast: the value fits its type, as tested just before.
  return { type, key, value } as AttributeComparison;
}

function isOrdered(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= LONGEST_TEXT : Number.isFinite(value);
}

function isValue(value: unknown): boolean {
  return typeof value === 'boolean' || isOrdered(value);
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MOST_VALUES && value.every(isValue);
}

function wrong(param: string, why: string): ApiError {
  return new ApiError('invalid_value', `Invalid '${param}': ${why}.`, { param });
}
