/** Estimates tokens without a tokenizer: an embedding model has its own, which this server does not know. */

/** The parts of a token that a character is counted in, so that all sums are whole numbers. */
export const PARTS = 4;

/** An English letter is a quarter of a token, a letter of other alphabets half of one, a Chinese character a whole one, an emoji two. */
export function tokenParts(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? PARTS : 2 * PARTS;
}

/** About how many tokens the text has. */
export function estimatedTokens(text: string): number {
  let parts = 0;
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0;
    parts += tokenParts(point);
    at += point > 0xffff ? 2 : 1;
  }
  return Math.ceil(parts / PARTS);
}
