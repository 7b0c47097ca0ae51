/** The JSON of items and of what is in them, each written once: the end of an answer tells all of it three or four times. */
import type { Item, LogProb, Part } from '../items.ts';

/** JSON texts of an object's fields that have been written already, by their names. */
export type Ready = Readonly<Record<string, string>>;

/** By what was written, for as long as that is there. Nothing that is told is changed later. */
const texts = new WeakMap<object, string>();

/** What `JSON.stringify` says of it; with log probabilities, which are long, this halves what the end of an answer costs. */
export function itemJson(item: Item): string {
  if (item.type !== 'message' || !Array.isArray(item.content)) return writtenOnce(item);
  return writtenOnce(item, { content: listJson(item.content, partJson) });
}

/** The same of a part. */
export function partJson(part: Part): string {
  return part.type === 'output_text' ? writtenOnce(part, { logprobs: logProbsJson(part.logprobs) }) : writtenOnce(part);
}

/** The same of all log probabilities of a part. */
export function logProbsJson(logprobs: readonly LogProb[]): string {
  return logprobs.length === 0 ? '[]' : writtenOnce(logprobs);
}

/** The JSON of a list, by that of its members. */
export function listJson<Member>(members: readonly Member[], write: (member: Member) => string): string {
  return `[${members.map(write).join()}]`;
}

/** The JSON of `{ ...fields, ...ready }`, where `ready` is written already. */
export function jsonWith(fields: object, ready: Ready): string {
  const members = Object.entries({ ...fields, ...ready }).filter(([, value]) => value !== undefined);
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${readyOf(ready, name) ?? JSON.stringify(value)}`).join()}}`;
}

function readyOf(ready: Ready, name: string): string | undefined {
  return Object.hasOwn(ready, name) ? ready[name] : undefined;
}

function writtenOnce(value: object, ready?: Ready): string {
  const text = texts.get(value) ?? (ready ? jsonWith(value, ready) : JSON.stringify(value));
  texts.set(value, text);
  return text;
}
