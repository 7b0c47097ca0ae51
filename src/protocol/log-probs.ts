/** Log probabilities as the text of their JSON: nobody here reads them, and written ones are cheaper to hold and to tell. */
import type { LogProb } from './items.ts';

/** By the list that was read from it, for as long as that is there. Nothing that is told is changed later. */
const texts = new WeakMap<object, string>();

/** The JSON of the list's members, with commas between them; empty where there are none. */
export function logProbsText(logprobs: readonly LogProb[]): string {
  return texts.get(logprobs) ?? JSON.stringify(logprobs).slice(1, -1);
}

/** The list with such members. */
export function logProbsIn(text: string): readonly LogProb[] {
  // The cast: only log probabilities are ever written so.
  const logprobs = JSON.parse(`[${text}]`) as readonly LogProb[];
  texts.set(logprobs, text);
  return logprobs;
}
