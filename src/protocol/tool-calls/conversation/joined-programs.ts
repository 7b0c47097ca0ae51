/** The conversation as a model reads it: a program and what it gave are one call, and the calls that it made are left out. */
import { originOfItem } from '../../ids.ts';
import type { Item } from '../../items.ts';
import { isPresent } from '../../record.ts';
import { answeredId } from '../kinds.ts';
import { callingProgram } from '../program-call.ts';

/** An item that the model's own server made. */
const isUpstreams = ({ id }: Item) => originOfItem(id) !== undefined;
const NONE: ReadonlySet<unknown> = new Set();

/**
 * The conversation as a model reads it: programs with what they gave, without the calls that they made. Of one that has not ended the
 * calls stay, unless it is among `resumed`: whoever cannot go on with it still has what was called. The same list without programs.
 */
export function joinedPrograms(
  items: readonly Item[],
  isNative: (item: Item) => boolean = isUpstreams,
  resumed: ReadonlySet<unknown> = NONE,
): readonly Item[] {
  const programs = new Set<unknown>();
  for (const item of items) if (item.type === 'program' && !isNative(item)) programs.add(item.call_id);
  if (programs.size === 0) return items;
  const results = new Map<unknown, string>();
  for (const { type, call_id: id, result } of items) {
    if (type === 'program_output' && programs.has(id)) results.set(id, typeof result === 'string' ? result : '');
  }
  const isInner = (id: unknown) => id !== undefined && programs.has(id) && (results.has(id) || resumed.has(id));
  const inner = new Set(items.filter((item) => isInner(callingProgram(item))));
  // Clients may leave the caller out of what they answer.
  const calls = new Set([...inner].map(({ call_id: id }) => id).filter(isPresent));
  return items.flatMap((item): readonly Item[] => {
    if (item.type === 'program_output') return programs.has(item.call_id) ? [] : [item];
    const answered = item.type.endsWith('_output') ? answeredId(item) : undefined;
    if (inner.has(item) || (isPresent(answered) && calls.has(answered))) return [];
    if (item.type !== 'program' || !results.has(item.call_id)) return [item];
    return [{ ...item, output: results.get(item.call_id) }];
  });
}
