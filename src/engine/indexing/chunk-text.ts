/** Cuts a text into chunks for searching, each of which overlaps the one before it a little. */
import type { Chunking } from '../../ports/vectors/vector-index.ts';
import { PARTS, tokenParts } from './token-estimate.ts';

/** A range of a text: from `start` up to, but without, `end`, in UTF-16 units. */
interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** How much of the end of a chunk is searched for a better place to cut. */
const SEARCHED_SHARE = 0.25;
/** The best places first: between paragraphs, after a line, after a sentence, between words. */
const CUT_MARKS: readonly (readonly string[])[] = [['\n\n'], ['\n'], ['. ', '? ', '! ', '。', '？', '！'], [' ']];
/** How far a chunk may begin later, in UTF-16 units, in order to begin with a word. */
const MAX_WORD = 40;

/**
 * The chunks in order, which cover the whole text; blank ones are left out. The same text always has the same chunks. Runs in
 * linear time. Tokens are estimated, as `estimatedTokens` does.
 */
export function chunkText(text: string, chunking: Chunking): readonly string[] {
  return [...chunkRanges(text, chunking)]
    .map(({ start, end }) => text.slice(start, end))
    .filter((chunk) => chunk.trim() !== '');
}

/** Where the chunks are. No range begins or ends within a character, and none begins after the end of the one before it. */
export function* chunkRanges(text: string, { maxTokens, overlapTokens }: Chunking): Iterable<TextRange> {
  let start = 0;
  while (start < text.length) {
    const limit = lastFittingIndex(text, start, maxTokens * PARTS);
    const end = limit < text.length ? bestEnd(text, start, limit) : limit;
    yield { start, end };
    if (end >= text.length) return;
    start = nextStart(text, { start, end }, overlapTokens * PARTS);
  }
}

/** The place after as many whole characters as fit; at least one. */
function lastFittingIndex(text: string, start: number, maxParts: number): number {
  let parts = 0;
  let at = start;
  while (at < text.length) {
    const point = text.codePointAt(at) ?? 0;
    parts += tokenParts(point);
    if (parts > maxParts && at > start) break;
    at += point > 0xffff ? 2 : 1;
  }
  return at;
}

/** The last of the best places to cut near the limit, or the limit itself. */
function bestEnd(text: string, start: number, limit: number): number {
  const from = limit - Math.floor((limit - start) * SEARCHED_SHARE);
  const searched = text.slice(from, limit);
  for (const marks of CUT_MARKS) {
    const found = marks.filter((mark) => searched.includes(mark));
    const ends = found.map((mark) => searched.lastIndexOf(mark) + mark.length);
    if (ends.length > 0) return from + Math.max(...ends);
  }
  return limit;
}

/** Goes back by the overlap, then on to the next word if one is near; always after the start of the chunk before. */
function nextStart(text: string, { start, end }: TextRange, overlap: number): number {
  let parts = 0;
  let at = end;
  while (at > start + 1) {
    const isPair = (text.codePointAt(at - 2) ?? 0) > 0xffff;
    const before = at - (isPair ? 2 : 1);
    parts += tokenParts(text.codePointAt(before) ?? 0);
    if (parts > overlap || before <= start) break;
    at = before;
  }
  if (at === end) return end;
  const from = Math.max(0, at - 1);
  const space = text.slice(from, Math.min(end, at + MAX_WORD)).search(/\s/);
  return space < 0 ? at : from + space + 1;
}
