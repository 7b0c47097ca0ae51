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
  const value = issue.path.reduce<unknown>(
    (within, key) => (Object(within) as Record<PropertyKey, unknown>)[key],
    root,
  );
  const [code, message] = describeIssue(issue, param, value);
  return new ApiError(code, message, { param });
}

function describeIssue(issue: Issue, param: string, value: unknown): readonly [ErrorCode, string] {
  if (value === undefined && issue.code !== 'custom') {
    return ['missing_required_parameter', `Missing required parameter: '${param}'.`];
  }
  switch (issue.code) {
    case 'invalid_type':
      return ['invalid_type', wrongTypeMessage(param, NOUNS[issue.expected] ?? `a ${issue.expected}`, value)];
    case 'invalid_union': {
      if (issue.discriminator === undefined) return ['invalid_type', wrongTypeMessage(param, issue.message, value)];
      return ['invalid_value', `Invalid value: '${quotedValue(value)}'. '${param}' names no type that is known here.`];
    }
    case 'invalid_value': {
      const list = issue.values.map((each) => `'${String(each)}'`).join(', ');
      const message = `Invalid value: '${quotedValue(value)}'. Supported values for '${param}' are: ${list}.`;
      return ['invalid_value', message];
    }
    case 'too_small': {
      if (typeof value !== 'number') return ['invalid_value', `Invalid '${param}': it must not be empty.`];
      const kind = issue.message === DECIMAL ? 'decimal' : 'integer';
      return [
        `${kind}_below_min_value`,
        `Invalid '${param}': ${kind} below minimum value. Expected a value >= ${issue.minimum}, but got ${value} instead.`,
      ];
    }
    case 'too_big': {
      if (Array.isArray(value)) return listTooLong(param, value.length, Number(issue.maximum));
      if (typeof value === 'number') {
        const kind = issue.message === DECIMAL ? 'decimal' : 'integer';
        const message = `${kind} above maximum value. Expected a value <= ${issue.maximum}, but got ${value} instead.`;
        return [`${kind}_above_max_value`, `Invalid '${param}': ${message}`];
      }
      const length = typeof value === 'string' ? value.length : 'more';
      const message = `string too long. Expected a string with maximum length ${issue.maximum}, but got ${length} instead.`;
      return ['string_above_max_length', `Invalid '${param}': ${message}`];
    }
    default:
      return ['invalid_value', `Invalid '${param}': ${issue.message}.`];
  }
}

/** The expected and the received type. */
export function wrongTypeMessage(param: string, expected: string, value: unknown): string {
  return `Invalid type for '${param}': expected ${expected}, but got ${typeNoun(value)} instead.`;
}

function listTooLong(param: string, length: number, most: number): readonly [ErrorCode, string] {
  const message = `array too long. Expected an array with maximum length ${most}, but got an array with length ${length} instead.`;
  return ['array_above_max_length', `Invalid '${param}': ${message}`];
}

/** The error for a value that its field does not take. */
export function invalidField(param: string, why: string): ApiError {
  return new ApiError('invalid_value', `Invalid '${param}': ${why}.`, { param });
}

/** Throws for a list of more members than allowed. */
export function refuseLong(param: string, length: number, most: number): void {
  if (length <= most) return;
  const [code, message] = listTooLong(param, length, most);
  throw new ApiError(code, message, { param });
}

const NOUNS: Readonly<Record<string, string>> = {
  int: 'an integer',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

function typeNoun(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number';
  return NOUNS[typeof value] ?? `a ${typeof value}`;
}

function quotedValue(value: unknown): string {
  const text = typeof value === 'string' ? value : typeNoun(value);
  return text.slice(0, PRINTED_CHARACTERS);
}

/** A path such as `input[2].content[0].text`. A client chooses the keys of some objects, and their length. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key).slice(0, PRINTED_CHARACTERS)}`))
    .join('')
    .replace(/^\./, '');
}
