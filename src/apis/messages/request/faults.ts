/** Errors of a request in Anthropic's words: the path of the field, and what was expected there. */

import { ApiError } from '../../../protocol/errors.ts';
import type { JsonObject } from '../../../protocol/record.ts';

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

/** What each check accepts, as JSON Schema, made when it is asked for. */
const schemas = new WeakMap<Check, () => JsonObject>();
const optionalChecks = new WeakSet<Check>();

/** The check, whose values the schema describes. */
export function describedCheck(check: Check, schema: () => JsonObject): Check {
  schemas.set(check, schema);
  return check;
}

/** What the check accepts, as JSON Schema. */
export function checkSchema(check: Check): JsonObject {
  return schemas.get(check)?.() ?? {};
}

/** An object with such fields, as JSON Schema; those that may be omitted are not required. */
export function fieldsSchema(checks: Readonly<Record<string, Check>>): JsonObject {
  const entries = Object.entries(checks);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, check]) => [name, checkSchema(check)])),
    required: entries.filter(([, check]) => !optionalChecks.has(check)).map(([name]) => name),
  };
}

function expecting(what: string, schema: JsonObject, holds: (value: unknown) => boolean): Check {
  const check: Check = (value, path) => {
    if (value === undefined)
      throw new ApiError('missing_required_parameter', `${path}: Field required`, { param: path });
    if (!holds(value)) throw fault(path, `Input should be ${what}`);
  };
  return describedCheck(check, () => schema);
}

/** The same check for a field that may be omitted, or null. */
export function optional(check: Check): Check {
  const either: Check = (value, path) => {
    if (value !== undefined && value !== null) check(value, path);
  };
  optionalChecks.add(either);
  return describedCheck(either, () => ({ anyOf: [checkSchema(check), { type: 'null' }] }));
}

export const aString = expecting('a valid string', { type: 'string' }, (value) => typeof value === 'string');
export const aBoolean = expecting('a valid boolean', { type: 'boolean' }, (value) => typeof value === 'boolean');
export const aList = expecting('a valid list', { type: 'array', items: {} }, Array.isArray);
export const anObject = expecting(
  'a valid dictionary',
  { type: 'object' },
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);
const anInteger = expecting('a valid integer', { type: 'integer' }, Number.isInteger);
const aNumber = expecting('a valid number', { type: 'number' }, (value) => typeof value === 'number');

/** A string with at least one character. */
export const aName = describedCheck(
  (value, path) => {
    aString(value, path);
    if (value === '') throw fault(path, 'String should have at least 1 character');
  },
  () => ({ type: 'string', minLength: 1 }),
);

/** A whole number from `least`. */
export function integerFrom(least: number): Check {
  const check: Check = (value, path) => {
    anInteger(value, path);
    if ((value as number) < least) throw fault(path, `Input should be greater than or equal to ${least}`);
  };
  return describedCheck(check, () => ({ type: 'integer', minimum: least }));
}

/** A number from 0 to 1. */
export const aShare = describedCheck(
  (value, path) => {
    aNumber(value, path);
    if ((value as number) < 0 || (value as number) > 1) throw fault(path, 'range: 0..1');
  },
  () => ({ type: 'number', minimum: 0, maximum: 1 }),
);

/** A list of strings. */
export const strings = describedCheck(
  (value, path) => {
    aList(value, path);
    for (const [index, each] of (value as readonly unknown[]).entries()) aString(each, `${path}.${index}`);
  },
  () => ({ type: 'array', items: { type: 'string' } }),
);

/** One of these strings. */
export function oneWord(...known: readonly string[]): Check {
  const words = known.map((each) => `'${each}'`);
  const last = words.pop();
  const what = words.length > 0 ? `${words.join(', ')} or ${last}` : `${last}`;
  return expecting(what, { enum: known }, (value) => known.includes(value as string));
}

/** An object that has these fields. */
export function fields(checks: Readonly<Record<string, Check>>): Check {
  const entries = Object.entries(checks);
  const check: Check = (value, path) => {
    anObject(value, path);
    // The cast: checked just above.
    const object = value as Readonly<Record<string, unknown>>;
    for (const [name, field] of entries) field(object[name], `${path}.${name}`);
  };
  return describedCheck(check, () => fieldsSchema(checks));
}

/** An object whose `type` decides about its other fields. */
export function tagged(checks: Readonly<Record<string, Check>>): Check {
  const known = Object.keys(checks)
    .map((each) => `'${each}'`)
    .join(', ');
  const either: Check = (value, path) => {
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
  return describedCheck(either, () => ({
    anyOf: Object.entries(checks).map(([type, check]) => {
      const { properties, required = [], ...rest } = checkSchema(check);
      // The casts: both are of `fieldsSchema`, or absent.
      const inner = { type: { const: type }, ...(properties as JsonObject | undefined) };
      return { ...rest, properties: inner, required: ['type', ...(required as readonly string[])] };
    }),
  }));
}
