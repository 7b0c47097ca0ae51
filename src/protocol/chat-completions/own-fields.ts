/** A model server's own fields: merged from pieces in linear time for any number of pieces, and weighed before they are stored. */
import { isRecord, type JsonObject } from '../record.ts';

/** Fields that only their owner changes. */
export type OwnFields = Record<string, unknown>;

/** Whether the next text or list continues the field, or replaces it. */
type Joining = 'append' | 'replace';

/** Merges fields into the existing ones; of values other than text, lists and objects the later one counts. */
export function mergeInto(target: OwnFields, more: JsonObject, joining: Joining): OwnFields {
  for (const [name, value] of Object.entries(more)) {
    // Assigned, it would be the prototype.
    if (name !== '__proto__') target[name] = merged(target[name], value, joining);
  }
  return target;
}

function merged(known: unknown, value: unknown, joining: Joining): unknown {
  // The casts: the values of the merged fields were created here.
  if (isRecord(value)) return mergeInto(isRecord(known) ? (known as OwnFields) : {}, value, joining);
  if (Array.isArray(value)) return extended(joining === 'append' && Array.isArray(known) ? known : [], value);
  if (joining === 'replace' || typeof value !== 'string' || typeof known !== 'string') return value;
  // Some servers repeat the same value in every chunk.
  return known === value ? known : known + value;
}

function extended(list: unknown[], more: readonly unknown[]): readonly unknown[] {
  for (const member of more) list.push(member);
  return list;
}

/** Deeper than any server nests its state; recursive code can go this deep without overflowing the stack. */
const DEEPEST = 32;
/** The base cost of a value, regardless of its content. */
const BARE = 8;

/** The approximate number of characters of the value's JSON; undefined if it is nested too deeply to be stored. */
export function weightOf(value: unknown, depth = 0): number | undefined {
  if (typeof value === 'string') return BARE + value.length;
  if (typeof value !== 'object' || value === null) return BARE;
  if (depth === DEEPEST) return undefined;
  let weight = BARE;
  for (const [name, member] of Object.entries(value)) {
    const more = weightOf(member, depth + 1);
    if (more === undefined) return undefined;
    weight += name.length + more;
  }
  return weight;
}
