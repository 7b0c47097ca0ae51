/** Keeps whole numbers above 2^53, which JavaScript rounds, on their way through objects: beside them as text, or as marks in them. */
import { randomUUID } from 'node:crypto';
import { isRecord, type JsonObject } from '../record.ts';
import { jsonIn, objectIn } from './json-text.ts';

/** Stands in front of the digits, in a string; nobody outside of this process knows it. */
const MARK = `whole-number-${randomUUID()}:`;
/** So many digits may be too many. */
const MANY_DIGITS = /\d{16}/;
const LEAST_LONG = 1e15;
/** A number without a fraction and an exponent. */
const LITERAL = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** The JSON of objects that were parsed with rounded numbers. */
const texts = new WeakMap<object, string>();

/** Whether the text may hold a number that JavaScript rounds: few texts do. */
export function hasLongNumber(text: string): boolean {
  return MANY_DIGITS.test(text);
}

/** Whether the object, which was parsed, may have held such a number. */
export function holdsLongNumber(object: object): boolean {
  const waiting: unknown[] = [object];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === 'number' && Math.abs(value) >= LEAST_LONG) return true;
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) waiting.push(each);
  }
  return false;
}

/** The object as `objectIn` parses it; `exactText` writes it with all digits. */
export function exactObjectIn(text: string): JsonObject | undefined {
  const value = objectIn(text);
  if (value && hasLongNumber(text)) texts.set(value, unmarked(JSON.stringify(markedIn(text))));
  return value;
}

/**
 * Remembers the digits of the objects that stand under one of these names anywhere in the value, which was parsed from
 * the text.
 */
export function rememberDigits(value: unknown, text: string, names: readonly string[]): void {
  if (!hasLongNumber(text)) return;
  const pairs: [unknown, unknown][] = [[value, markedIn(text)]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [rounded, marked] = pair;
    if (Array.isArray(rounded) && Array.isArray(marked))
      for (const [index, each] of rounded.entries()) pairs.push([each, marked[index]]);
    if (!isRecord(rounded) || !isRecord(marked)) continue;
    for (const [name, each] of Object.entries(rounded)) {
      const own = marked[name];
      if (!isRecord(each)) pairs.push([each, own]);
      else if (!names.includes(name)) pairs.push([each, own]);
      else {
        const exact = JSON.stringify(own);
        if (exact.includes(MARK)) texts.set(each, unmarked(exact));
      }
    }
  }
}

/** Whether the digits of this object are remembered. */
export function hasDigits(value: unknown): value is object {
  return typeof value === 'object' && value !== null && texts.has(value);
}

/** The JSON of the value; of an object whose digits are remembered, with all of them. */
export function exactText(value: unknown): string {
  return (hasDigits(value) && texts.get(value)) || JSON.stringify(value);
}

/** The JSON of a value in which such objects may stand anywhere. */
export function exactTextOfAll(value: unknown): string {
  return unmarked(JSON.stringify(value, (_, each: unknown) => markedValue(each)));
}

/** The object with marks in place of rounded numbers, for code of others that writes it as JSON; see `unmarked`. */
export function markedValue<Value>(value: Value): Value {
  // The cast: the same object, but for its numbers.
  return hasDigits(value) ? (markedIn(texts.get(value) ?? '') as Value) : value;
}

/** Since Node 22: a value that `JSON.stringify` writes as this text. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown };

/**
 * The object for code of others that writes it as JSON and knows no marks: with each number that JavaScript rounds as one that
 * is written with all its digits or, on Node 20, as a text of them.
 */
export function withExactNumbers(value: JsonObject): JsonObject {
  const text = texts.get(value);
  if (text === undefined) return value;
  const exact: unknown = JSON.parse(JSON.stringify(markedIn(text)), (_, each: unknown) => {
    if (typeof each !== 'string' || !each.startsWith(MARK)) return each;
    const digits = each.slice(MARK.length);
    return rawJSON ? rawJSON(digits) : digits;
  });
  return isRecord(exact) ? exact : value;
}

/** The JSON text with numbers in place of the marks. */
export function unmarked(json: string): string {
  const [first = '', ...others] = json.split(`"${MARK}`);
  return others.length === 0 ? json : first + others.map((each) => each.replace('"', '')).join('');
}

/** The value without marks: with rounded numbers, as `JSON.parse` reads them. */
export function roundedValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text?.includes(MARK) ? jsonIn(unmarked(text)) : value;
}

/** The value of a JSON text with marks in place of the numbers that JavaScript rounds; undefined where the text is not JSON. */
export function markedIn(text: string): unknown {
  if (!hasLongNumber(text)) return jsonIn(text);
  let marked = '';
  for (let at = 0; ; ) {
    const start = text.indexOf('"', at);
    const between = text.slice(at, start < 0 ? undefined : start);
    marked += hasLongNumber(between)
      ? between.replace(LITERAL, (digits) => (Number.isSafeInteger(Number(digits)) ? digits : `"${MARK}${digits}"`))
      : between;
    if (start < 0) return jsonIn(marked);
    at = endOfJsonString(text, start + 1);
    marked += text.slice(start, at);
  }
}

/** The position behind the string's last quote. */
function endOfJsonString(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end;
    while (before > from && json[before - 1] === '\\') before -= 1;
    if ((end - before) % 2 === 0) return end + 1;
  }
  return json.length;
}
