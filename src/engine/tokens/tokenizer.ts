/** Counts the tokens of texts: with `js-tiktoken` if the host has installed it, else by their length. */
import { TokenizerThread } from './tokenizer-thread.ts';

/** Tokens of one text. */
export type TextCounter = (text: string, model: string) => number | Promise<number>;

const CHARACTERS_PER_TOKEN = 4;

/** Four characters are about one token of English; other languages and code have more. */
export function estimatedTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** Approximate number of bytes that are counted: the rest is assumed to be like the part before it. */
const MAX_COUNTED_BYTES = 1_000_000;

const shared = new TokenizerThread();

/**
 * Uses the encoding of OpenAI's newer models for every model: others' are rarely available, and differ little. Rejects
 * with the signal's reason, and with `too_many_streams` if too much is waiting to be counted already.
 */
export async function countTextTokens(text: string, signal?: AbortSignal, thread = shared): Promise<number> {
  // Its characters may all take one byte, or three, and the time depends on bytes.
  const characters = text.slice(0, MAX_COUNTED_BYTES);
  const bytes = Buffer.byteLength(characters);
  const share = Math.min(1, MAX_COUNTED_BYTES / bytes);
  const counted = characters.slice(0, Math.floor(characters.length * share));
  const tokens = await thread.count(counted, signal);
  if (tokens === undefined) return estimatedTokens(text);
  return counted === '' ? 0 : Math.ceil(tokens * (text.length / counted.length));
}
