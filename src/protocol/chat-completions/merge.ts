/** Puts together fields that come in pieces, in time that no number of pieces can stretch: what is there is never copied again. */
import { isRecord, type JsonObject } from '../record.ts';

/** Fields that only their owner changes. */
export type OwnFields = Record<string, unknown>;

/** Whether a text or a list goes on with the next one, or is replaced by it. */
export type Joining = 'append' | 'replace';

/** Adds fields to those that are there, field by field; of what is neither text nor list nor object the later one counts. */
export function mergeInto(target: OwnFields, more: JsonObject, joining: Joining): OwnFields {
  for (const [name, value] of Object.entries(more)) {
    // Assigned, it would be the prototype.
    if (name !== '__proto__') target[name] = merged(target[name], value, joining);
  }
  return target;
}

function merged(known: unknown, value: unknown, joining: Joining): unknown {
  // The casts: what is in fields of our own was made here.
  if (isRecord(value)) return mergeInto(isRecord(known) ? (known as OwnFields) : {}, value, joining);
  if (Array.isArray(value)) return extended(joining === 'append' && Array.isArray(known) ? known : [], value);
  if (joining === 'replace' || typeof value !== 'string' || typeof known !== 'string') return value;
  // Some servers say the same in every chunk.
  return known === value ? known : known + value;
}

function extended(list: unknown[], more: readonly unknown[]): readonly unknown[] {
  for (const member of more) list.push(member);
  return list;
}
