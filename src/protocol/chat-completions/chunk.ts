/** What is read of any chunk: the choice that counts, the author of its delta, and the smallest delta, of text alone. */

import { isRecord, type JsonObject, plainText } from '../record.ts';

/** The number of a choice: for the only one some servers write none, null or text. */
export function choiceIndex({ index }: JsonObject): number {
  return Number(plainText(index)) || 0;
}

/** The choice of this number. */
export function choiceNumbered({ choices }: JsonObject, number: number): JsonObject | undefined {
  return Array.isArray(choices)
    ? choices.find((choice): choice is JsonObject => isRecord(choice) && choiceIndex(choice) === number)
    : undefined;
}

/**
 * The choice that is the answer, of the first chunk that has one or of a whole answer: number 0, and not a further one of a
 * client's `n`. Some servers begin to count at 1.
 */
export function firstChoice(chunk: JsonObject): JsonObject | undefined {
  return choiceNumbered(chunk, 0) ?? (Array.isArray(chunk.choices) ? chunk.choices.find(isRecord) : undefined);
}

/** The content of a chunk with a single delta. */
export interface PlainDelta {
  readonly text: string;
  /** The number of the call whose arguments the text continues; undefined if the text is the answer's own. */
  readonly call: number | undefined;
  /** The JSON of each log probability of the text, separated by commas. */
  readonly logprobs: string;
}

/** Whether the author is not the model, for example a tool of the server's own; most deltas name no role. */
export function isForeignRole(role: unknown): role is string {
  return typeof role === 'string' && role !== '' && role !== 'assistant' && role.toLowerCase() !== 'assistant';
}
