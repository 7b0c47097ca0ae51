/** The JSON of items and of what is in them, each written once: the end of an answer tells all of it three or four times. */
import { randomUUID } from 'node:crypto';
import type { Item, Part } from '../../../protocol/items.ts';
import { logProbsText } from '../../../protocol/log-probs.ts';

/** By what was written, for as long as that is there. Nothing that is told is changed later. */
const texts = new WeakMap<object, string>();

/** What `JSON.stringify` says of it; with log probabilities, which are long, this halves what the end of an answer costs. */
export function itemJson(item: Item): string {
  const parts = item.type === 'message' && Array.isArray(item.content) ? item.content : undefined;
  return writtenOnce(item, () => (parts ? jsonWith(item, 'content', listJson(parts, partJson)) : JSON.stringify(item)));
}

/** The same of a part. */
export function partJson(part: Part): string {
  if (part.type !== 'output_text' || part.logprobs.length === 0) return writtenOnce(part, () => JSON.stringify(part));
  return writtenOnce(part, () => jsonWith(part, 'logprobs', `[${logProbsText(part.logprobs)}]`));
}

/** The JSON of a list, by that of its members. */
export function listJson<Member>(members: readonly Member[], write: (member: Member) => string): string {
  return `[${members.map(write).join()}]`;
}

/** Nobody can know it, so that it is found nowhere but where it was put. */
const PLACE = randomUUID();
const WRITTEN_PLACE = JSON.stringify(PLACE);

/** The JSON of the fields with one more, or with another value of one, which is written already. */
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
