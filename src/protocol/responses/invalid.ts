/** Describes an invalid field in OpenAI's words. */
import type { z } from 'zod';
import { ApiError, type ErrorCode } from '../errors.ts';

type Issue = z.core.$ZodIssue;

/** Maximum characters of a client's value that a message quotes. */
const PRINTED_CHARACTERS = 100;

/** The message of a bound of a field that takes decimals: OpenAI calls 3 a decimal there, too. */
export const DECIMAL = 'decimal';

/** The error for the first issue; `at` is the path of the checked value in the request, `root` the value itself. */
export function invalid(issues: readonly Issue[], root: unknown, at: readonly PropertyKey[] = []): ApiError {
  const issue = issues[0] as Issue;
  const param = pathText([...at, ...issue.path]);
  const [code, message] = describe(issue, param, valueAt(root, issue.path));
  return new ApiError(code, message, { param });
}

function describe(issue: Issue, param: string, value: unknown): readonly [ErrorCode, string] {
  if (value === undefined && issue.code !== 'custom') {
    return ['missing_required_parameter', `Missing required parameter: '${param}'.`];
  }
  switch (issue.code) {
    case 'invalid_type':
      return ['invalid_type', expectedInstead(param, nounOf(issue.expected), value)];
    case 'invalid_union':
      return unionIssue(issue, param, value);
    case 'invalid_value':
      return ['invalid_value', unknownValue(param, value, issue.values.map(String))];
    case 'too_small':
      return tooSmall(issue, param, value);
    case 'too_big':
      return tooBig(issue, param, value);
    default:
      return ['invalid_value', `Invalid '${param}': ${issue.message}.`];
  }
}

function unionIssue(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  param: string,
  value: unknown,
): readonly [ErrorCode, string] {
  if (issue.discriminator === undefined) return ['invalid_type', expectedInstead(param, issue.message, value)];
  return ['invalid_value', `Invalid value: '${printed(value)}'. '${param}' names no type that is known here.`];
}

/** The expected and the received type. */
export function expectedInstead(param: string, expected: string, value: unknown): string {
  return `Invalid type for '${param}': expected ${expected}, but got ${kindOf(value)} instead.`;
}

function unknownValue(param: string, value: unknown, known: readonly string[]): string {
  const list = known.map((each) => `'${each}'`).join(', ');
  return `Invalid value: '${printed(value)}'. Supported values for '${param}' are: ${list}.`;
}

function tooSmall(
  issue: Extract<Issue, { code: 'too_small' }>,
  param: string,
  value: unknown,
): readonly [ErrorCode, string] {
  if (typeof value !== 'number') return ['invalid_value', `Invalid '${param}': it must not be empty.`];
  const kind = issue.message === DECIMAL ? 'decimal' : 'integer';
  return [
    `${kind}_below_min_value`,
    `Invalid '${param}': ${kind} below minimum value. Expected a value >= ${issue.minimum}, but got ${value} instead.`,
  ];
}

function tooBig(
  issue: Extract<Issue, { code: 'too_big' }>,
  param: string,
  value: unknown,
): readonly [ErrorCode, string] {
  if (Array.isArray(value)) return tooLong(param, value.length, Number(issue.maximum));
  if (typeof value === 'number') {
    const kind = issue.message === DECIMAL ? 'decimal' : 'integer';
    const message = `${kind} above maximum value. Expected a value <= ${issue.maximum}, but got ${value} instead.`;
    return [`${kind}_above_max_value`, `Invalid '${param}': ${message}`];
  }
  const length = typeof value === 'string' ? value.length : 'more';
  const message = `string too long. Expected a string with maximum length ${issue.maximum}, but got ${length} instead.`;
  return ['string_above_max_length', `Invalid '${param}': ${message}`];
}

function tooLong(param: string, length: number, most: number): readonly [ErrorCode, string] {
  const message = `array too long. Expected an array with maximum length ${most}, but got an array with length ${length} instead.`;
  return ['array_above_max_length', `Invalid '${param}': ${message}`];
}

/** Throws for a list of more members than allowed. */
export function refuseLong(param: string, length: number, most: number): void {
  if (length <= most) return;
  const [code, message] = tooLong(param, length, most);
  throw new ApiError(code, message, { param });
}

const NOUNS: Readonly<Record<string, string>> = {
  int: 'an integer',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function nounOf(type: string): string {
  return NOUNS[type] ?? `a ${type}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number';
  return nounOf(typeof value);
}

function printed(value: unknown): string {
  const text = typeof value === 'string' ? value : kindOf(value);
  return text.slice(0, PRINTED_CHARACTERS);
}

/** A path such as `input[2].content[0].text`. A client chooses the keys of some objects, and their length. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key).slice(0, PRINTED_CHARACTERS)}`))
    .join('')
    .replace(/^\./, '');
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (Object(value) as Record<PropertyKey, unknown>)[key], root);
}
