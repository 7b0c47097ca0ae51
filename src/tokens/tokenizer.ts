/** Counts the tokens of texts: with `js-tiktoken` where the host has installed it, else by their length. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Tokens of one text. */
export type TextCounter = (text: string, model: string) => number | Promise<number>;

const CHARACTERS_PER_TOKEN = 4;

/** Four characters are about one token of English; other languages and code have more. */
export function estimatedTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

/** What we use of `js-tiktoken`. */
interface Encoding {
  encode(text: string, allowedSpecial: readonly string[], disallowedSpecial: readonly string[]): readonly number[];
}

let loading: Promise<Encoding | undefined> | undefined;

/** By the encoding of OpenAI's newer models, whichever model is asked: others' are seldom to be had, and are not far from it. */
export async function tokensOf(text: string): Promise<number> {
  // Loaded when first needed: it takes half a second, and 20 MB of memory.
  loading ??= loadEncoding((name) => import(name));
  const encoding = await loading;
  return encoding ? encodedTokens(text, encoding) : estimatedTokens(text);
}

/** The encoding, or undefined where the package is not installed. */
export async function loadEncoding(load: (name: string) => Promise<unknown>): Promise<Encoding | undefined> {
  try {
    const [{ Tiktoken }, { default: ranks }] = (await Promise.all([
      load('js-tiktoken/lite'),
      load('js-tiktoken/ranks/o200k_base'),
      // The cast: these are the package's exports.
    ])) as [{ Tiktoken: new (ranks: unknown) => Encoding }, { default: unknown }];
    return new Tiktoken(ranks);
  } catch {
    return undefined;
  }
}

/** Characters between two pauses, and at most in all: what comes behind is taken to be like what came before. */
const SLICE = 4096;
const COUNTED = 1_000_000;

/** Exact but for words of more than 64 characters, and for what is behind the first million characters. */
export async function encodedTokens(text: string, encoding: Encoding): Promise<number> {
  let tokens = 0;
  let counted = 0;
  for (const slice of slicesOf(text.slice(0, COUNTED))) {
    tokens += encoding.encode(slice, [], []).length;
    counted += slice.length;
    // Others must not wait for a long conversation to be counted.
    if (counted < text.length) await nextTurn();
  }
  return counted === 0 ? 0 : Math.ceil(tokens * (text.length / counted));
}

/** Words with what is white in front of them. */
const WORD = /\s{0,64}\S{1,64}|\s{1,64}/gu;
const LONGEST_WORD = 64;

/** In slices with no very long word in them: the encoder's time grows with the cube of a word's length. */
function* slicesOf(text: string): Generator<string> {
  let slice = '';
  for (const [word] of text.matchAll(WORD)) {
    if (slice.length > 0 && (slice.length > SLICE || word.length >= LONGEST_WORD)) {
      yield slice;
      slice = '';
    }
    slice += word;
  }
  if (slice !== '') yield slice;
}
