/** The one walk over everything that is text in a JSON value: in requests, answers, events and results of tools. */
import type { MaybePromise } from '../../../ports/store.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { ADDRESSES, namesTool, type Position, SPELLINGS } from './positions.ts';

/** Returns the text that takes the place of one; `path` is where it stands. */
export type MapText = (text: string, path: string) => Promise<string>;

/** How texts are mapped. */
interface TextMapping {
  readonly map: MapText;
  /** Members of the first list that stay as they are. */
  readonly known?: ReadonlySet<unknown> | undefined;
  /** Whether one text is mapped after another. */
  readonly inTurn?: boolean;
  /** Called for a list of numbers in the place of a text: the numbers of tokens, which nobody can read. */
  readonly onTokens?: ((path: string) => void) | undefined;
}

/** How many texts are inspected at the same time. */
const AT_ONCE = 8;

/**
 * The value with its texts mapped; the same value if no text changes. An object that no API defines, such as arguments,
 * is mapped as one text, its JSON, with its names and numbers. Log probabilities are left out.
 */
export function mapTexts(
  value: unknown,
  path: string,
  position: Position,
  mapping: TextMapping,
): MaybePromise<unknown> {
  const walk = new Walk(mapping);
  walk.collect(value, path, position, 0);
  return walk.places.length === 0 && !walk.hasSpellings ? value : replaceTexts(value, position, walk, mapping);
}

/** Whether a member of the object, but for these, is a text or may hold one: most chunks and events have a single text. */
export function holdsTexts(value: JsonObject, position: Position, except: ReadonlySet<string>): boolean {
  for (const name in value)
    if (!except.has(name) && memberReading(value, name, value[name], position) !== 'none') return true;
  return false;
}

async function replaceTexts(
  value: unknown,
  position: Position,
  walk: Walk,
  { map, inTurn }: TextMapping,
): Promise<unknown> {
  const mapped: string[] = [];
  const size = inTurn ? 1 : AT_ONCE;
  for (let at = 0; at < walk.places.length; at += size) {
    const some = walk.places.slice(at, at + size);
    mapped.push(...(await Promise.all(some.map(({ text, path }) => map(text, path)))));
  }
  if (!walk.hasSpellings && mapped.every((text, at) => text === walk.places[at]?.text)) return value;
  return walk.rebuild(value, position, 0, mapped.values());
}

/** A text, and where it stands. */
interface Place {
  readonly text: string;
  readonly path: string;
}

/** How a member is read: by its own position, as a text, or not at all. */
type Reading = Position | 'text' | 'none' | 'dropped';

class Walk {
  readonly places: Place[] = [];
  /** Whether log probabilities must go. */
  hasSpellings = false;
  private readonly mapping: TextMapping;

  constructor(mapping: TextMapping) {
    this.mapping = mapping;
  }

  collect(value: unknown, path: string, position: Position, depth: number): void {
    if (typeof value === 'string') return this.place(value, path);
    if (Array.isArray(value)) {
      if (typeof value[0] === 'number') this.mapping.onTokens?.(path);
      for (const [at, member] of value.entries())
        if (!this.isKnown(member, depth)) this.collect(member, `${path}[${at}]`, position, depth + 1);
      return;
    }
    if (!isRecord(value)) return;
    const prefix = path === '' ? '' : `${path}.`;
    for (const name of Object.keys(value)) {
      const member = value[name];
      const reading = memberReading(value, name, member, position);
      if (reading === 'dropped') this.hasSpellings = true;
      // An object that no API defines is one text.
      else if (reading === 'text')
        this.place(typeof member === 'string' ? member : JSON.stringify(member), `${prefix}${name}`);
      else if (reading !== 'none') this.collect(member, `${prefix}${name}`, reading, depth + 1);
    }
  }

  /** Visits in the order of `collect`. */
  rebuild(value: unknown, position: Position, depth: number, mapped: Iterator<string>): unknown {
    if (typeof value === 'string') return value === '' ? '' : mapped.next().value;
    if (Array.isArray(value))
      return value.map((member) =>
        this.isKnown(member, depth) ? member : this.rebuild(member, position, depth + 1, mapped),
      );
    if (!isRecord(value)) return value;
    const fields = Object.keys(value).map((name): readonly [string, unknown] => {
      const member = value[name];
      const reading = memberReading(value, name, member, position);
      if (reading === 'dropped') return [name, Array.isArray(member) ? [] : null];
      if (reading === 'none') return [name, member];
      if (reading !== 'text') return [name, this.rebuild(member, reading, depth + 1, mapped)];
      return [name, member === '' ? '' : parseReplacement(member, mapped.next().value)];
    });
    return Object.fromEntries(fields);
  }

  private place(text: string, path: string): void {
    if (text !== '') this.places.push({ text, path });
  }

  /** Only members of the whole list are known, which is the value or a member of it. */
  private isKnown(member: unknown, depth: number): boolean {
    return depth <= 1 && this.mapping.known?.has(member) === true;
  }
}

function memberReading(owner: JsonObject, name: string, member: unknown, position: Position): Reading {
  if (typeof member !== 'string' && (typeof member !== 'object' || member === null)) return 'none';
  if (position.skipped.has(name)) return 'none';
  if (typeof member === 'string') return isReadText(owner, name, member, position) ? 'text' : 'none';
  if (SPELLINGS.has(name) && position.data.size > 0)
    return Array.isArray(member) && member.length === 0 ? 'none' : 'dropped';
  return position.members.get(name) ?? position.others ?? 'text';
}

/** Whether a member that is a string is a text that guards read. */
export function isReadText(owner: JsonObject, name: string, member: string, position: Position): boolean {
  if (position.unread.has(name) || position.skipped.has(name)) return false;
  if (name === 'name' && position.data.size > 0 && namesTool(owner)) return false;
  if (position.data.has(name) && (BASE64.test(member) || isDataUrl(member))) {
    // A document whose data are its text.
    if (owner.type === 'text') return true;
    // Of results only that of a picture is data.
    return name === 'result' && !(typeof owner.type === 'string' && owner.type.includes('image'));
  }
  return !(ADDRESSES.has(name) && isDataUrl(member));
}

function parseReplacement(member: unknown, text: string): unknown {
  if (typeof member === 'string' || text === JSON.stringify(member)) return typeof member === 'string' ? text : member;
  return jsonIn(text) ?? text;
}

const BASE64 = /^[\w+/=.:~-]*$/;
const DATA_URL = /^data:[\w.+-]{1,64}\/[\w.+-]{1,64}(;[\w.=+-]{1,64}){0,8};base64,/;

function isDataUrl(text: string): boolean {
  const head = DATA_URL.exec(text)?.[0];
  return head !== undefined && BASE64.test(text.slice(head.length));
}
