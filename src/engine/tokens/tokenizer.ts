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
const COUNTED = 1_000_000;

const shared = new TokenizerThread();

/**
 * Uses the encoding of OpenAI's newer models for every model: others' are rarely available, and differ little. Rejects
 * with the signal's reason, and with `too_many_streams` if too much is waiting to be counted already.
 */
export async function tokensOf(text: string, signal?: AbortSignal, thread = shared): Promise<number> {
  const counted = beginningOf(text);
  const tokens = await thread.count(counted, signal);
  if (tokens === undefined) return estimatedTokens(text);
  return counted === '' ? 0 : Math.ceil(tokens * (text.length / counted.length));
}

/** Its characters may all take one byte, or three, and the time depends on bytes. */
function beginningOf(text: string): string {
  const characters = text.slice(0, COUNTED);
  const bytes = Buffer.byteLength(characters);
  return bytes <= COUNTED ? characters : characters.slice(0, Math.floor(characters.length * (COUNTED / bytes)));
}
