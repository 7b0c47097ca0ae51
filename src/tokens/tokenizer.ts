/** Counts the tokens of texts: with `js-tiktoken` where the host has installed it, else by their length. */
import { TokenizerThread } from './tokenizer-thread.ts';

/** Tokens of one text. */
export type TextCounter = (text: string, model: string) => number | Promise<number>;

const CHARACTERS_PER_TOKEN = 4;

/** Four characters are about one token of English; other languages and code have more. */
export function estimatedTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** Bytes that are counted, more or less: what comes behind is taken to be like what came before. */
const COUNTED = 1_000_000;

const shared = new TokenizerThread();

/**
 * By the encoding of OpenAI's newer models, whichever model is asked: others' are seldom to be had, and are not far from
 * it. Rejects with the signal's reason, and with `too_many_streams` where too much waits to be counted already.
 */
export async function tokensOf(text: string, signal?: AbortSignal, thread = shared): Promise<number> {
  const counted = beginningOf(text);
  const tokens = await thread.count(counted, signal);
  if (tokens === undefined) return estimatedTokens(text);
  return counted === '' ? 0 : Math.ceil(tokens * (text.length / counted.length));
}

/** Its characters may be all of one byte, or of three, and it is bytes that take time. */
function beginningOf(text: string): string {
  const characters = text.slice(0, COUNTED);
  const bytes = Buffer.byteLength(characters);
  return bytes <= COUNTED ? characters : characters.slice(0, Math.floor(characters.length * (COUNTED / bytes)));
}
