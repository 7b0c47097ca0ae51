/** Reads the log probabilities of Chat Completions as the JSON of the Responses API. */
import { logProbsText, readLogProbList } from '../json/log-probs.ts';
import { isRecord } from '../record.ts';

/** The JSON of each, separated by commas; empty if there are none. */
export function readLogProbs(value: unknown): string {
  if (!isRecord(value) || !Array.isArray(value.content)) return '';
  return logProbsText(readLogProbList(value.content));
}
