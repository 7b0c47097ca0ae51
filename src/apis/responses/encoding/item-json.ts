/** The JSON of items and of their parts, each serialized once: the end of an answer contains all of it three or four times. */
import { randomUUID } from 'node:crypto';
import type { Item, Part } from '../../../protocol/items.ts';
import { logProbsText } from '../../../protocol/json/log-probs.ts';

/** Cached by object, as long as the object exists. Emitted objects are never changed. */
const texts = new WeakMap<object, string>();

/** The result of `JSON.stringify`; with log probabilities, which are long, this halves the cost of an answer's end. */
export function itemJson(item: Item): string {
  const parts = item.type === 'message' && Array.isArray(item.content) ? item.content : undefined;
  return writtenOnce(item, () => (parts ? jsonWith(item, 'content', listJson(parts, partJson)) : JSON.stringify(item)));
}

/** The same for a part. */
export function partJson(part: Part): string {
  if (part.type !== 'output_text' || part.logprobs.length === 0) return writtenOnce(part, () => JSON.stringify(part));
  return writtenOnce(part, () => jsonWith(part, 'logprobs', `[${logProbsText(part.logprobs)}]`));
}

/** The JSON of a list, from that of its members. */
export function listJson<Member>(members: readonly Member[], write: (member: Member) => string): string {
  return `[${members.map(write).join()}]`;
}

/** A random mark, so that it occurs only where it was inserted. */
const PLACE = randomUUID();
const WRITTEN_PLACE = JSON.stringify(PLACE);

/** The JSON of the fields with one field added or replaced whose value is already serialized. */
export function jsonWith(fields: object, name: string, json: string): string {
  return JSON.stringify({ ...fields, [name]: PLACE }).replace(WRITTEN_PLACE, () => json);
}

function writtenOnce(value: object, write: () => string): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = write();
  texts.set(value, text);
  return text;
}
