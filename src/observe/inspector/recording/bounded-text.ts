/** Turns values into bounded JSON text without secrets, which the inspector keeps. */

import { SECRET_NAME } from '../../../protocol/secrets/mask.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';

/** A text, and the number of characters that were left out of it. */
export interface BoundedText {
  readonly text: string;
  readonly cut: number;
}

/** Nothing was kept, and nothing left out. */
export const NO_TEXT: BoundedText = { text: '', cut: 0 };

const MASK = '***';
const MAX_DEPTH = 128;
/** A shorter value is a word, such as `on`. */
const MIN_SECRET = 4;
/** Fields of the API whose names only look like those of secrets. */
const NOT_SECRET: ReadonlySet<string> = new Set(['prompt_cache_key', 'token', 'tokens', 'token_count']);

/**
 * The value as JSON of about `limit` characters. Longer texts and lists end with how much of them is missing; values of
 * fields whose names mark them as secret are masked. Its time is linear in the value.
 */
export function boundedJson(value: unknown, limit: number): BoundedText {
  const writer = new BoundedWriter(limit);
  writer.write(value, 0);
  return { text: writer.parts.join(''), cut: writer.cut };
}

/** A value that is small enough to be kept as it is: most are never viewed, so their text is made on demand. */
class LazyText implements BoundedText {
  readonly cut = 0;
  private readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  get text(): string {
    return boundedJson(this.value, Number.POSITIVE_INFINITY).text;
  }
}

/** The same for a value that is never changed; `characters` is its size, kept as a value or as text. */
export function boundedValue(
  value: unknown,
  limit: number,
): { readonly bounded: BoundedText; readonly characters: number } {
  const characters = charactersIn(value, limit, 0);
  if (characters <= limit) return { bounded: new LazyText(value), characters };
  const bounded = boundedJson(value, limit);
  return { bounded, characters: bounded.text.length };
}

/** The memory that a value takes besides its characters, in characters. */
const VALUE_CHARACTERS = 24;

/** About the size of the value; stops counting above the limit. */
function charactersIn(value: unknown, limit: number, depth: number): number {
  if (typeof value === 'string') return value.length + VALUE_CHARACTERS;
  if (typeof value !== 'object' || value === null) return VALUE_CHARACTERS;
  if (depth > MAX_DEPTH) return limit + 1;
  let sum = VALUE_CHARACTERS;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && sum <= limit; index += 1)
      sum += charactersIn(value[index], limit - sum, depth + 1);
    return sum;
  }
  // The cast: any object is read by its names.
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    sum += name.length + charactersIn(fields[name], limit - sum, depth + 1);
    if (sum > limit) return sum;
  }
  return sum;
}

/** Text as it may be shown: in JSON, fields with secret names are masked; in other text, whatever looks like a key. */
export function maskText(text: string): string {
  if (!/^\s*[{[]/.test(text)) return withoutKeys(text);
  try {
    return withoutKeys(boundedJson(JSON.parse(text), Number.POSITIVE_INFINITY).text);
  } catch {
    return withoutKeys(text);
  }
}

class BoundedWriter {
  readonly parts: string[] = [];
  cut = 0;
  private remaining: number;

  constructor(limit: number) {
    this.remaining = limit;
  }

  write(value: unknown, depth: number): void {
    if (typeof value === 'string') this.writeText(value);
    else if (typeof value !== 'object' || value === null) this.put(JSON.stringify(value) ?? 'null');
    else if (depth > MAX_DEPTH) this.put('"…"');
    else if (Array.isArray(value)) this.writeList(value, depth);
    else this.writeFields(value as Readonly<Record<string, unknown>>, depth);
  }

  private put(text: string): void {
    this.remaining -= text.length;
    this.parts.push(text);
  }

  private writeText(text: string): void {
    const left = Math.max(this.remaining, 0);
    if (text.length <= left) return this.put(JSON.stringify(text));
    this.cut += text.length - left;
    this.put(JSON.stringify(`${text.slice(0, left)}… (${text.length - left} more characters)`));
  }

  private writeList(list: readonly unknown[], depth: number): void {
    this.put('[');
    for (const [index, each] of list.entries()) {
      if (this.remaining <= 0) return this.endEarly(list.length - index, index > 0, ']');
      if (index > 0) this.put(',');
      this.write(each, depth + 1);
    }
    this.put(']');
  }

  private writeFields(fields: Readonly<Record<string, unknown>>, depth: number): void {
    this.put('{');
    let written = 0;
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      if (value === undefined) continue;
      if (this.remaining <= 0) return this.endEarly(1, written > 0, '}', '"…":');
      this.put(`${written > 0 ? ',' : ''}${JSON.stringify(name)}:`);
      this.write(isSecretField(name, value) ? MASK : value, depth + 1);
      written += 1;
    }
    this.put('}');
  }

  /** Closes a value that cannot be written completely, so that the text stays JSON. */
  private endEarly(missing: number, follows: boolean, close: string, name = ''): void {
    this.cut += missing;
    const what = name === '' ? `… (${missing} more)` : 'more fields';
    this.parts.push(`${follows ? ',' : ''}${name}${JSON.stringify(what)}${close}`);
  }
}

const MAX_NAMES = 4096;
const secretNames = new Map<string, boolean>();

function isSecretField(name: string, value: unknown): boolean {
  if (typeof value !== 'string' || value.length < MIN_SECRET) return false;
  const known = secretNames.get(name);
  if (known !== undefined) return known;
  const found = SECRET_NAME.test(name) && !NOT_SECRET.has(name);
  // Names come from clients and tools.
  if (secretNames.size >= MAX_NAMES) secretNames.clear();
  if (name.length <= 64) secretNames.set(name, found);
  return found;
}
