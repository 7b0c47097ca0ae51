/** Log probabilities as JSON text: this package does not interpret them, and text is cheaper to hold and to send. */
import type { LogProb, TopLogProb } from '../items.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** Cached by the parsed list, as long as the list exists. Emitted lists are never changed. */
const texts = new WeakMap<object, string>();

/** The JSON of the list's members, separated by commas; empty if there are none. */
export function logProbsText(logprobs: readonly LogProb[]): string {
  return texts.get(logprobs) ?? JSON.stringify(logprobs).slice(1, -1);
}

/** The list with these members. */
export function logProbsIn(text: string): readonly LogProb[] {
  // The cast: only log probabilities are ever serialized this way.
  const logprobs = JSON.parse(`[${text}]`) as readonly LogProb[];
  texts.set(logprobs, text);
  return logprobs;
}

/** What a model server sent, with every field that the Responses API requires and no other. */
export function readLogProbList(values: readonly unknown[]): readonly LogProb[] {
  return values.filter(isRecord).map(readLogProb);
}

function readLogProb(entry: JsonObject): LogProb {
  // Not by spreading, which costs as much as the rest.
  const { token, logprob, bytes } = readTopLogProb(entry);
  const top = entry.top_logprobs;
  return { token, logprob, bytes, top_logprobs: Array.isArray(top) ? top.filter(isRecord).map(readTopLogProb) : [] };
}

/** Chat Completions allows `bytes: null`; the Responses API requires the bytes. */
function readTopLogProb(entry: JsonObject): TopLogProb {
  const token = typeof entry.token === 'string' ? entry.token : '';
  const logprob = typeof entry.logprob === 'number' ? finite(entry.logprob) : 0;
  return { token, logprob, bytes: isBytes(entry.bytes) ? entry.bytes : [...Buffer.from(token)] };
}

/** JSON has no infinity, which a number like -1e999 is read as; -9999 is OpenAI's number for it. */
function finite(logprob: number): number {
  if (Number.isFinite(logprob)) return logprob;
  return logprob < 0 ? -9999 : 0;
}

function isBytes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256);
}
