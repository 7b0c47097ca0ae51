/** The encoding of `js-tiktoken`, and how a long text is counted with it: in slices. */
import { bytePairCounter, type Count, type Ranks } from './byte-pairs.ts';

/** The encoding, or undefined if the package is not installed. */
export async function loadEncoding(load: (name: string) => Promise<unknown>): Promise<Count | undefined> {
  try {
    // The cast: this is the package's export.
    const { default: ranks } = (await load('js-tiktoken/ranks/o200k_base')) as { default: Ranks };
    return bytePairCounter(ranks);
  } catch {
    return undefined;
  }
}

/** Characters between two pauses. */
const SLICE = 4096;

/**
 * The tokens of this many characters of the text, slice by slice, so that a long conversation does not block other
 * texts. Exact except for words of more than 64 characters.
 */
export function* encodedTokens(text: string, count: Count): Generator<number, void> {
  let tokens = 0;
  let characters = 0;
  for (const slice of textSlices(text)) {
    tokens += count(slice);
    characters += slice.length;
    if (characters < SLICE) continue;
    yield tokens;
    tokens = 0;
    characters = 0;
  }
  if (tokens > 0) yield tokens;
}

/** Words with their leading white space. */
const WORD = /\s{0,64}\S{1,64}|\s{1,64}/gu;
const MAX_WORD = 64;

/** Slices that contain no very long word: the encoder's time grows with the square of a word's length. */
function* textSlices(text: string): Generator<string> {
  let slice = '';
  for (const [word] of text.matchAll(WORD)) {
    if (slice.length > 0 && (slice.length > SLICE || word.length >= MAX_WORD)) {
      yield slice;
      slice = '';
    }
    slice += word;
  }
  if (slice !== '') yield slice;
}
