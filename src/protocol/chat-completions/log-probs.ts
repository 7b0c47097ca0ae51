/** Reads the log probabilities of Chat Completions as the JSON of those of the Responses wire. */
import type { LogProb, TopLogProb } from '../items.ts';
import { logProbsText } from '../log-probs.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** The JSON of each, with commas between them; empty where there are none. */
export function readLogProbs(value: unknown): string {
  if (!isRecord(value) || !Array.isArray(value.content)) return '';
  return logProbsText(value.content.filter(isRecord).map(readLogProb));
}

/**
 * Whether it is the JSON of log probabilities with all their fields and no others, in their usual order and without
 * blanks, so that reading and writing it would change no more than how a character is escaped. This takes a sixth of
 * what that takes.
 */
export function isLogProbsText(text: string): boolean {
  return text.length < LONGEST_MATCHED && WRITTEN.test(text);
}

/** Matching megabytes could run out of stack. */
const LONGEST_MATCHED = 65_536;

const STRING = String.raw`"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"`;
/** No more digits than a number can have that is not infinite, which JSON cannot say. */
const NUMBER = String.raw`-?(?:0|[1-9]\d{0,15})(?:\.\d+)?(?:[eE]-\d+)?`;
const BYTES = listOf(String.raw`(?:0|[1-9]\d*)`);
const TOKEN = `"token":${STRING},"logprob":${NUMBER},"bytes":${BYTES}`;
const ENTRY = String.raw`\{${TOKEN},"top_logprobs":${listOf(String.raw`\{${TOKEN}\}`)}\}`;
const WRITTEN = new RegExp(`^${ENTRY}(?:,${ENTRY})*$`, 'u');

function listOf(member: string): string {
  return String.raw`\[(?:${member}(?:,${member})*)?\]`;
}

function readLogProb(entry: JsonObject): LogProb {
  // Not by spreading, which costs as much as the rest.
  const { token, logprob, bytes } = readTopLogProb(entry);
  const top = entry.top_logprobs;
  return { token, logprob, bytes, top_logprobs: Array.isArray(top) ? top.filter(isRecord).map(readTopLogProb) : [] };
}

/** Chat Completions allows `bytes: null`; the Responses wire wants the bytes. */
function readTopLogProb(entry: JsonObject): TopLogProb {
  const token = typeof entry.token === 'string' ? entry.token : '';
  const logprob = typeof entry.logprob === 'number' ? entry.logprob : 0;
  return { token, logprob, bytes: Array.isArray(entry.bytes) ? entry.bytes : [...Buffer.from(token)] };
}
