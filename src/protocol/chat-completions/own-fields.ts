/** A model server's own fields: merged from pieces in linear time for any number of pieces, and weighed before they are stored. */
import { isRecord, type JsonObject } from '../record.ts';

/** Fields that only their owner changes. */
export type OwnFields = Record<string, unknown>;

/** Whether the next text or list continues the field, or replaces it. */
type MergeMode = 'append' | 'replace';

/** Merges fields into the existing ones; of values other than text, lists and objects the later one counts. */
export function mergeInto(target: OwnFields, more: JsonObject, mode: MergeMode): OwnFields {
  for (const [name, value] of Object.entries(more)) {
    // Assigned, it would be the prototype.
    if (name !== '__proto__') target[name] = mergedValue(target[name], value, mode);
  }
  return target;
}

function mergedValue(before: unknown, value: unknown, mode: MergeMode): unknown {
  // The casts: the values of the merged fields were created here.
  if (isRecord(value)) return mergeInto(isRecord(before) ? (before as OwnFields) : {}, value, mode);
  if (Array.isArray(value)) {
    const list = mode === 'append' && Array.isArray(before) ? before : [];
    for (const member of value) list.push(member);
    return list;
  }
  if (mode === 'replace' || typeof value !== 'string' || typeof before !== 'string') return value;
  // Some servers repeat the same value in every chunk.
  return before === value ? before : before + value;
}

/** Deeper than any server nests its state; recursive code can go this deep without overflowing the stack. */
const MAX_DEPTH = 32;
/** The base cost of a value, regardless of its content. */
const VALUE_WEIGHT = 8;

/** The approximate number of characters of the value's JSON; undefined if it is nested too deeply to be stored. */
export function jsonWeight(value: unknown, depth = 0): number | undefined {
  if (typeof value === 'string') return VALUE_WEIGHT + value.length;
  if (typeof value !== 'object' || value === null) return VALUE_WEIGHT;
  if (depth === MAX_DEPTH) return undefined;
  let weight = VALUE_WEIGHT;
  for (const [name, member] of Object.entries(value)) {
    const more = jsonWeight(member, depth + 1);
    if (more === undefined) return undefined;
    weight += name.length + more;
  }
  return weight;
}
