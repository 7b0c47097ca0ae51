/** How indexes of vector stores keep the texts of chunks, count their bytes, and read the words of a search. */
import type { Chunk } from '../../ports/vectors/vector-index.ts';

/** The longest part of a searched text that is read, and the most words of it. */
const MAX_SEARCHED_CHARACTERS = 16_384;
const MAX_SEARCHED_WORDS = 64;
/** A longer run of letters is no word of a language. */
const MAX_WORD_CHARACTERS = 128;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** The text without NULs and lone surrogates, which databases refuse. */
export function storableChunkText(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '\uFFFD');
}

/** The bytes of its text and of its embedding. */
export function chunkBytes({ text, embedding }: Chunk): number {
  return Buffer.byteLength(text) + embedding.byteLength;
}

/** The different words of a search: letters and digits alone, so that none is an operator. */
export function searchedWords(text: string): readonly string[] {
  const words = new Set<string>();
  for (const [word] of text.slice(0, MAX_SEARCHED_CHARACTERS).matchAll(WORD)) {
    if (words.size === MAX_SEARCHED_WORDS) break;
    if (word.length <= MAX_WORD_CHARACTERS) words.add(word.toLowerCase());
  }
  return [...words];
}

/**
 * The words of a text in lower case, for PostgreSQL: its own parser depends on the locale, may treat punctuation as letters, and an
 * address as one word.
 */
export function lowerCaseWords(text: string): string {
  return Array.from(text.matchAll(WORD), ([word]) => word.toLowerCase()).join(' ');
}

/** How often each word is in the text. */
export function wordCounts(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [found] of text.matchAll(WORD)) {
    const word = found.toLowerCase();
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}
