/** Log probabilities as JSON text: this package does not interpret them, and text is cheaper to hold and to send. */
import type { LogProb } from './items.ts';

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
