/** Reads the log probabilities of Chat Completions as the JSON of the Responses API. */
import { logProbsText, readLogProbList } from '../json/log-probs.ts';
import { isRecord } from '../record.ts';

/** The JSON of each, separated by commas; empty if there are none. */
export function readLogProbs(value: unknown): string {
  if (!isRecord(value) || !Array.isArray(value.content)) return '';
  return logProbsText(readLogProbList(value.content));
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
