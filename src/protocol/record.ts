/** Type checks for values of unknown type, and for cases that the types exclude. */

/** An object as JSON has it, of which nothing is known yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

import { types } from 'node:util';

/** Whether the value is an object whose fields may be read by name (not an array, not null). */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A copy with these fields replacing its own. `Object.assign` takes a seventh of a spread's time where fields are added
 * (docs/decisions/object-shapes.md), but makes a `__proto__` of parsed JSON the copy's prototype.
 */
export function withFields<Value extends object, More extends object>(value: Value, more: More): Value & More {
  return Object.hasOwn(value, '__proto__') ? { ...value, ...more } : Object.assign({}, value, more);
}

/** The objects of a list; none if it is no list. */
export function recordsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

/** The value of a field, or of one within it. */
export function valueAt(object: JsonObject, [field = '', inner]: readonly (string | undefined)[]): unknown {
  const owner = inner === undefined ? object : object[field];
  return isRecord(owner) ? owner[inner ?? field] : undefined;
}

/** Whether the value is a text that is not empty. */
export function isFilledText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Whether a field is there and is not null, as clients write one that they leave out. */
export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Whether a field has no value: it is absent, null or an empty text. */
export function isEmptyField(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** The fields that have a value. */
export function definedFields<Fields extends object>(fields: Fields): DefinedFields<Fields> & JsonObject {
  // The cast: some of its own fields.
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as DefinedFields<Fields> & JsonObject;
}

type DefinedFields<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The value if it is text, else empty. */
export function textOrNone(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * The value as text if it is text, a number or a boolean; else empty. `String` throws for parsed JSON with its own
 * `toString`.
 */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** The message of what was thrown, or the value itself as text: functions of hosts may throw anything. */
export function thrownText(thrown: unknown): string {
  try {
    return String(isRecord(thrown) && typeof thrown.message === 'string' ? thrown.message : thrown);
  } catch {
    // `String` throws for an object without a prototype, for example.
    return 'The error cannot be written as text.';
  }
}

/** Whether the value is a promise. Not by `instanceof`: promises of other realms and libraries count. */
export function isPromise<Value>(answer: Value | Promise<Value>): answer is Promise<Value> {
  return isRecord(answer) && typeof answer.then === 'function';
}

/** Handles the rejection of a promise that a function of the host has returned by mistake: nobody else would, and Node then ends the process. */
export function ignoreRejection(value: unknown): void {
  if (isPromise(value)) value.then(undefined, () => {});
}

/**
 * Calls `next` with the value, at once if it is no promise. Most steps of most requests wait for nothing, and each promise
 * that is made all the same takes longer than many of the steps (docs/decisions/plain-calls.md).
 */
export function mapMaybePromise<Value, Next>(
  value: Value | Promise<Value>,
  next: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return isPromise(value) ? value.then(next) : next(value);
}

/**
 * Whether the value is an error, of any realm: Node's own errors may come from another realm than the checking code.
 */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error;
}

/** Throws for a case that the types exclude. */
export function unreachable(value: never): never {
  throw new TypeError(`unreachable case: ${JSON.stringify(value)}`);
}
