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
  return values.filter(isRecord).map((entry) => {
    // Not by spreading, which costs as much as the rest.
    const { token, logprob, bytes } = readTopLogProb(entry);
    const top = entry.top_logprobs;
    return { token, logprob, bytes, top_logprobs: Array.isArray(top) ? top.filter(isRecord).map(readTopLogProb) : [] };
  });
}

function readTopLogProb(entry: JsonObject): TopLogProb {
  const token = typeof entry.token === 'string' ? entry.token : '';
  const number = typeof entry.logprob === 'number' ? entry.logprob : 0;
  // JSON has no infinity, which a number like -1e999 is read as; -9999 is OpenAI's number for it.
  const logprob = Number.isFinite(number) ? number : number < 0 ? -9999 : 0;
  const { bytes } = entry;
  const areBytes = Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte) && byte >= 0 && byte < 256);
  // Chat Completions allows `bytes: null`; the Responses API requires the bytes.
  return { token, logprob, bytes: areBytes ? bytes : [...Buffer.from(token)] };
}

/**
 * Whether it is the JSON of log probabilities with all their fields and no others, in their usual order and without
 * blanks, so that parsing and serializing it would change only how characters are escaped. This check takes a sixth of
 * that time.
 */
export function isLogProbsText(text: string): boolean {
  return text.length < MAX_MATCHED_LENGTH && LOG_PROBS.test(text);
}

/** Matching megabytes could overflow the stack. */
const MAX_MATCHED_LENGTH = 65_536;

const STRING = String.raw`"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"`;
/** No more digits than a finite number can have; JSON has no infinity. */
const NUMBER = String.raw`-?(?:0|[1-9]\d{0,15})(?:\.\d+)?(?:[eE]-\d+)?`;
const BYTES = listPattern(String.raw`(?:0|1\d?\d?|2(?:[0-4]\d?|5[0-5]?|[6-9])?|[3-9]\d?)`);
const TOKEN = `"token":${STRING},"logprob":${NUMBER},"bytes":${BYTES}`;
const ENTRY = String.raw`\{${TOKEN},"top_logprobs":${listPattern(String.raw`\{${TOKEN}\}`)}\}`;
const LOG_PROBS = new RegExp(`^${ENTRY}(?:,${ENTRY})*$`, 'u');

function listPattern(member: string): string {
  return String.raw`\[(?:${member}(?:,${member})*)?\]`;
}
