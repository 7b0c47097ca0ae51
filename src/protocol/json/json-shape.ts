/** Limits the structure of a JSON body: how many values, how deep, and no key that JavaScript may treat as a prototype. */

import { ApiError } from '../errors.ts';
import { isRecord } from '../record.ts';

/** Maximum number of values in a body. */
interface ValueLimits {
  readonly bodyValues: number;
}

/** Deeper than any schema needs; recursive code can go this deep without overflowing the stack. */
const MAX_DEPTH = 128;

const COMMA = 44;
const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const SPACE = 32;

/**
 * Refuses a JSON text of more values than the limit before it is parsed: parsed, two bytes such as `[]` take more than
 * sixteen. Throws `request_too_large`. Text that is not JSON is left to the parser.
 */
export function refuseManyValues(text: Uint8Array, { bodyValues }: ValueLimits): void {
  // Each value but the first takes two bytes.
  if (text.length <= bodyValues * 2) return;
  if (countValues(text, bodyValues) > bodyValues) throw tooManyValues(bodyValues);
}

/**
 * The number of values in the text. Counting stops above `most`, with one to spare: an object that has just begun may
 * stay empty.
 */
function countValues(text: Uint8Array, most: number): number {
  let values = 1;
  let last = 0;
  for (let at = 0; at < text.length && values <= most + 1; at += 1) {
    const byte = text[at] as number;
    if (byte <= SPACE) continue;
    if (byte === QUOTE) {
      at += 1;
      // To the end of the string.
      for (let inner = text[at]; inner !== undefined && inner !== QUOTE; inner = text[at])
        at += inner === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA || byte === OPEN_LIST || byte === OPEN_OBJECT) values += 1;
    // An empty list or object has no first value.
    else if (byte === CLOSE_LIST ? last === OPEN_LIST : byte === CLOSE_OBJECT && last === OPEN_OBJECT) values -= 1;
    last = byte;
  }
  return values;
}

/**
 * The body as fields that are safe to copy and to traverse, whoever parsed it. Throws `ApiError`: `invalid_json` if it
 * is not an object, `request_too_large` for more values than the limit, `invalid_value` if it is nested too deeply or
 * has a key `__proto__`, which `Object.assign` would turn into a prototype after every check.
 */
export function bodyFields(body: unknown, { bodyValues }: ValueLimits): Readonly<Record<string, unknown>> {
  // A host may pass bytes that have not been parsed.
  if (!isRecord(body) || ArrayBuffer.isView(body))
    throw new ApiError('invalid_json', 'The request body must be a JSON object.');
  if (valuesBelow(body, bodyValues, 0) < 0) throw tooManyValues(bodyValues);
  return body;
}

/** What remains of the limit after the value's members; negative if it was exceeded. */
function valuesBelow(value: object, limit: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new ApiError('invalid_value', `The request is nested deeper than ${MAX_DEPTH} levels.`);
  if (Array.isArray(value)) {
    let left = limit - value.length;
    for (let index = 0; index < value.length && left >= 0; index += 1) {
      const member: unknown = value[index];
      if (typeof member === 'object' && member !== null) left = valuesBelow(member, left, depth + 1);
    }
    return left;
  }
  let left = limit;
  // Unlike `Object.entries`, `for in` creates no list: this runs for every request.
  for (const key in value) {
    if (key === '__proto__')
      throw new ApiError('invalid_value', "Invalid key '__proto__': no field may have this name.");
    left -= 1;
    if (left < 0) return left;
    // The cast: any object is read by its names.
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof member === 'object' && member !== null) left = valuesBelow(member, left, depth + 1);
  }
  return left;
}

function tooManyValues(most: number): ApiError {
  return new ApiError('request_too_large', `The request holds more than the ${most} values that this server takes.`);
}
