/** Reads a filter over attributes out of a request. */
import type { AttributeCombination, AttributeComparison, AttributeFilter } from '../../ports/vectors/attributes.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

const MAX_DEPTH = 8;
/** Comparisons and combinations of one filter. */
const MAX_PARTS = 100;
const MAX_VALUES = 500;
const MAX_TEXT = 512;
const MAX_KEY = 64;

const COMBINATIONS: ReadonlySet<unknown> = new Set(['and', 'or']);
const COMPARISONS: Readonly<Record<string, { readonly value: string; test(value: unknown): boolean }>> = {
  eq: { value: 'a text, a number or a boolean', test: isAttributeValue },
  ne: { value: 'a text, a number or a boolean', test: isAttributeValue },
  gt: { value: 'a text or a number', test: isTextOrNumber },
  gte: { value: 'a text or a number', test: isTextOrNumber },
  lt: { value: 'a text or a number', test: isTextOrNumber },
  lte: { value: 'a text or a number', test: isTextOrNumber },
  in: { value: `a list of at most ${MAX_VALUES} texts, numbers or booleans`, test: isAttributeList },
  nin: { value: `a list of at most ${MAX_VALUES} texts, numbers or booleans`, test: isAttributeList },
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
    if (this.parts > MAX_PARTS) throw invalidTerm(param, `a filter has at most ${MAX_PARTS} parts`);
    if (depth > MAX_DEPTH) throw invalidTerm(param, `filters are nested at most ${MAX_DEPTH} deep`);
    if (!isRecord(value)) throw invalidTerm(param, 'expected a filter, which is an object');
    return COMBINATIONS.has(value.type) ? this.combination(value, param, depth) : readComparison(value, param);
  }

  private combination({ type, filters }: JsonObject, param: string, depth: number): AttributeCombination {
    if (!Array.isArray(filters) || filters.length > MAX_PARTS)
      throw invalidTerm(`${param}.filters`, `expected a list of at most ${MAX_PARTS} filters`);
    const read = filters.map((each, at) => this.read(each, `${param}.filters[${at}]`, depth + 1));
    // The cast: looked up just before.
    return { type: type as 'and' | 'or', filters: read };
  }
}

function readComparison({ type, key, value }: JsonObject, param: string): AttributeComparison {
  const kind = typeof type === 'string' && Object.hasOwn(COMPARISONS, type) ? COMPARISONS[type] : undefined;
  if (!kind)
    throw invalidTerm(
      `${param}.type`,
      `supported values are: ${[...Object.keys(COMPARISONS), 'and', 'or'].join(', ')}`,
    );
  if (typeof key !== 'string' || key.length > MAX_KEY)
    throw invalidTerm(`${param}.key`, `expected a text of at most ${MAX_KEY} characters`);
  if (!kind.test(value)) throw invalidTerm(`${param}.value`, `expected ${kind.value}`);
  // The cast: the value fits its type, as tested just before.
  return { type, key, value } as AttributeComparison;
}

function isTextOrNumber(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= MAX_TEXT : Number.isFinite(value);
}

function isAttributeValue(value: unknown): boolean {
  return typeof value === 'boolean' || isTextOrNumber(value);
}

function isAttributeList(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MAX_VALUES && value.every(isAttributeValue);
}

/** The error of a field of a search; `why` says what is expected there. */
export function invalidTerm(param: string, why: string): ApiError {
  return new ApiError('invalid_value', `Invalid '${param}': ${why}.`, { param });
}
