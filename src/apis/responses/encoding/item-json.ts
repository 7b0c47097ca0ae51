/** The JSON of items and of their parts, each serialized once: the end of an answer contains all of it three or four times. */
import { randomUUID } from 'node:crypto';
import type { Item, Part } from '../../../protocol/items.ts';
import { logProbsText } from '../../../protocol/json/log-probs.ts';

/**
 * What has been written of one answer, by object: emitted objects are never changed. No `WeakMap`, of which every collection
 * of garbage would look through all entries since the last.
 */
export type Written = Map<object, string>;

/** The result of `JSON.stringify`; with log probabilities, which are long, this halves the cost of an answer's end. */
export function itemJson(item: Item, written: Written | undefined): string {
  const parts = item.type === 'message' && Array.isArray(item.content) ? item.content : undefined;
  if (!parts) return writtenOnce(written, item, () => JSON.stringify(item));
  return writtenOnce(written, item, () => {
    const content = listJson(parts, (part) => partJson(part, written));
    return jsonWith(item, 'content', content);
  });
}

/** The same for a part. */
export function partJson(part: Part, written: Written | undefined): string {
  const hasLogProbs = part.type === 'output_text' && part.logprobs.length > 0;
  if (!hasLogProbs) return writtenOnce(written, part, () => JSON.stringify(part));
  return writtenOnce(written, part, () => jsonWith(part, 'logprobs', `[${logProbsText(part.logprobs)}]`));
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

function writtenOnce(written: Written | undefined, value: object, write: () => string): string {
  const known = written?.get(value);
  if (known !== undefined) return known;
  const text = write();
  written?.set(value, text);
  return text;
}
