/** Questions asked of values whose kind is not known. */

/** An object as JSON has it, of which nothing is known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

import { types } from 'node:util';

/** Whether the value is an object whose fields may be read by name (not an array, not null). */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A copy with these fields in the place of its own. `Object.assign` takes a seventh of a spread's time where fields are added
 * (docs/decisions/object-shapes.md), but makes a `__proto__` of parsed JSON the copy's prototype.
 */
export function withFields<Value extends object, More extends object>(value: Value, more: More): Value & More {
  return Object.hasOwn(value, '__proto__') ? { ...value, ...more } : Object.assign({}, value, more);
}

/** The text that the value is, or the number as one; else none. `String` throws for parsed JSON with a `toString` of its own. */
export function plainTextOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** Whether the answer comes later. Not by `instanceof`: promises of other realms and libraries count. */
export function isPromise<Value>(answer: Value | Promise<Value>): answer is Promise<Value> {
  return isRecord(answer) && typeof answer.then === 'function';
}

/** Whether the value is an error, of whatever realm: those of Node's own may be another's than the code that looks at them. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error;
}
