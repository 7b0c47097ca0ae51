/** Turns values into bounded JSON text without secrets, which the inspector keeps. */
import { beginningOf } from '../../../protocol/printable.ts';
import { SECRET_NAME } from '../../../protocol/secrets/mask.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';

/** A text, and the number of characters that were left out of it. */
export interface Kept {
  readonly text: string;
  readonly cut: number;
}

/** Nothing was kept, and nothing left out. */
export const NOTHING_KEPT: Kept = { text: '', cut: 0 };

const MASK = '***';
const DEEPEST = 128;
/** A shorter value is a word, such as `on`. */
const SHORTEST_SECRET = 4;
/** Fields of the API whose names only look like those of secrets. */
const NOT_SECRET: ReadonlySet<string> = new Set(['prompt_cache_key', 'token', 'tokens', 'token_count']);

/**
 * The value as JSON of about `limit` characters. Longer texts and lists end with how much of them is missing; values of
 * fields whose names mark them as secret are masked. Its time is linear in the value.
 */
export function keptJson(value: unknown, limit: number): Kept {
  const writer = new BoundedWriter(limit);
  writer.write(value, 0);
  return { text: writer.parts.join(''), cut: writer.cut };
}

/** A value that is small enough to be kept as it is: most are never viewed, so their text is made on demand. */
class KeptValue implements Kept {
  readonly cut = 0;
  private readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  get text(): string {
    return keptJson(this.value, Number.POSITIVE_INFINITY).text;
  }
}

/** The same for a value that is never changed; `characters` is its size, kept as a value or as text. */
export function keptValue(value: unknown, limit: number): { readonly kept: Kept; readonly characters: number } {
  const characters = charactersIn(value, limit, 0);
  if (characters <= limit) return { kept: new KeptValue(value), characters };
  const kept = keptJson(value, limit);
  return { kept, characters: kept.text.length };
}

/** The memory that a value takes besides its characters, in characters. */
const OF_VALUE = 24;

/** About the size of the value; stops counting above the limit. */
function charactersIn(value: unknown, limit: number, depth: number): number {
  if (typeof value === 'string') return value.length + OF_VALUE;
  if (typeof value !== 'object' || value === null) return OF_VALUE;
  if (depth > DEEPEST) return limit + 1;
  return Array.isArray(value)
    ? charactersInList(value, limit, depth)
    : // The cast: any object is read by its names.
      charactersInFields(value as Readonly<Record<string, unknown>>, limit, depth);
}

function charactersInList(list: readonly unknown[], limit: number, depth: number): number {
  let sum = OF_VALUE;
  for (let index = 0; index < list.length && sum <= limit; index += 1)
    sum += charactersIn(list[index], limit - sum, depth + 1);
  return sum;
}

function charactersInFields(fields: Readonly<Record<string, unknown>>, limit: number, depth: number): number {
  let sum = OF_VALUE;
  for (const name in fields) {
    sum += name.length + charactersIn(fields[name], limit - sum, depth + 1);
    if (sum > limit) return sum;
  }
  return sum;
}

/** The beginning of a text. */
export function keptText(text: string, limit: number): Kept {
  return { text: beginningOf(text, limit), cut: Math.max(text.length - limit, 0) };
}

/** Text as it may be shown: in JSON, fields with secret names are masked; in other text, whatever looks like a key. */
export function shownText(text: string): string {
  if (!/^\s*[{[]/.test(text)) return withoutKeys(text);
  try {
    return withoutKeys(keptJson(JSON.parse(text), Number.POSITIVE_INFINITY).text);
  } catch {
    return withoutKeys(text);
  }
}

class BoundedWriter {
  readonly parts: string[] = [];
  cut = 0;
  private room: number;

  constructor(limit: number) {
    this.room = limit;
  }

  write(value: unknown, depth: number): void {
    if (typeof value === 'string') this.writeText(value);
    else if (typeof value !== 'object' || value === null) this.put(JSON.stringify(value) ?? 'null');
    else if (depth > DEEPEST) this.put('"…"');
    else if (Array.isArray(value)) this.writeList(value, depth);
    else this.writeFields(value as Readonly<Record<string, unknown>>, depth);
  }

  private put(text: string): void {
    this.room -= text.length;
    this.parts.push(text);
  }

  private writeText(text: string): void {
    const left = Math.max(this.room, 0);
    if (text.length <= left) return this.put(JSON.stringify(text));
    this.cut += text.length - left;
    this.put(JSON.stringify(`${text.slice(0, left)}… (${text.length - left} more characters)`));
  }

  private writeList(list: readonly unknown[], depth: number): void {
    this.put('[');
    for (const [index, each] of list.entries()) {
      if (this.room <= 0) return this.endEarly(list.length - index, index > 0, ']');
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
      if (this.room <= 0) return this.endEarly(1, written > 0, '}', '"…":');
      this.put(`${written > 0 ? ',' : ''}${JSON.stringify(name)}:`);
      this.write(isSecret(name, value) ? MASK : value, depth + 1);
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

const MOST_NAMES = 4096;
const secretNames = new Map<string, boolean>();

function isSecret(name: string, value: unknown): boolean {
  if (typeof value !== 'string' || value.length < SHORTEST_SECRET) return false;
  const known = secretNames.get(name);
  if (known !== undefined) return known;
  const found = SECRET_NAME.test(name) && !NOT_SECRET.has(name);
  // Names come from clients and tools.
  if (secretNames.size >= MOST_NAMES) secretNames.clear();
  if (name.length <= 64) secretNames.set(name, found);
  return found;
}
