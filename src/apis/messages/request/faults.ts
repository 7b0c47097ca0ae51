/** Errors of a request in Anthropic's words: the path of the field, and what was expected there. */

import { ApiError } from '../../../protocol/errors.ts';

/** Maximum characters of a client's value that a message quotes. */
const MAX_QUOTED = 100;

/** A fault of the field at this path, such as `messages.0.content`. */
export function fault(path: string, message: string): ApiError {
  return new ApiError('invalid_value', `${path}: ${message}`, { param: path });
}

/** The value as a message quotes it. */
export function quotedValue(value: unknown): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')).slice(0, MAX_QUOTED);
}

/** Checks one value; throws `ApiError`. */
export type Check = (value: unknown, path: string) => void;

function expecting(what: string, holds: (value: unknown) => boolean): Check {
  return (value, path) => {
    if (value === undefined)
      throw new ApiError('missing_required_parameter', `${path}: Field required`, { param: path });
    if (!holds(value)) throw fault(path, `Input should be ${what}`);
  };
}

/** The same check for a field that may be omitted, or null. */
export function optional(check: Check): Check {
  return (value, path) => {
    if (value !== undefined && value !== null) check(value, path);
  };
}

export const aString = expecting('a valid string', (value) => typeof value === 'string');
export const aBoolean = expecting('a valid boolean', (value) => typeof value === 'boolean');
export const aList = expecting('a valid list', Array.isArray);
export const anObject = expecting(
  'a valid dictionary',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const anInteger = expecting('a valid integer', Number.isInteger);
const aNumber = expecting('a valid number', (value) => typeof value === 'number');

/** A string with at least one character. */
export const aName: Check = (value, path) => {
  aString(value, path);
  if (value === '') throw fault(path, 'String should have at least 1 character');
};

/** A whole number from `least`. */
export function integerFrom(least: number): Check {
  return (value, path) => {
    anInteger(value, path);
    if ((value as number) < least) throw fault(path, `Input should be greater than or equal to ${least}`);
  };
}

/** A number from 0 to 1. */
export const aShare: Check = (value, path) => {
  aNumber(value, path);
  if ((value as number) < 0 || (value as number) > 1) throw fault(path, 'range: 0..1');
};

/** A list of strings. */
export const strings: Check = (value, path) => {
  aList(value, path);
  for (const [index, each] of (value as readonly unknown[]).entries()) aString(each, `${path}.${index}`);
};

/** One of these strings. */
export function oneWord(...known: readonly string[]): Check {
  const words = known.map((each) => `'${each}'`);
  const last = words.pop();
  return expecting(words.length > 0 ? `${words.join(', ')} or ${last}` : `${last}`, (value) =>
    known.includes(value as string),
  );
}

/** An object that has these fields. */
export function fields(checks: Readonly<Record<string, Check>>): Check {
  const entries = Object.entries(checks);
  return (value, path) => {
    anObject(value, path);
    // The cast: checked just above.
    const object = value as Readonly<Record<string, unknown>>;
    for (const [name, check] of entries) check(object[name], `${path}.${name}`);
  };
}

/** An object whose `type` decides about its other fields. */
export function tagged(checks: Readonly<Record<string, Check>>): Check {
  const known = Object.keys(checks)
    .map((each) => `'${each}'`)
    .join(', ');
  return (value, path) => {
    anObject(value, path);
    const { type } = value as { readonly type?: unknown };
    if (type === undefined) throw fault(path, "Unable to extract tag using discriminator 'type'");
    const check = typeof type === 'string' && Object.hasOwn(checks, type) ? checks[type] : undefined;
    if (!check)
      throw fault(
        path,
        `Input tag '${quotedValue(type)}' found using 'type' does not match any of the expected tags: ${known}`,
      );
    check(value, `${path}.${type}`);
  };
}
