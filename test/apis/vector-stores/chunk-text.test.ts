/** How texts are cut into chunks. */
import fc from 'fast-check';
import { chunkRanges, chunkText } from '../../../src/engine/indexing/chunk-text.ts';
import { estimatedTokens } from '../../../src/engine/indexing/token-estimate.ts';

const text = fc.string({
  unit: fc.constantFrom('a', 'word', ' ', '. ', '\n', '\n\n', 'é', '語', '😀'),
  maxLength: 3000,
});
const chunking = fc.integer({ min: 100, max: 300 }).chain((maxTokens) =>
  fc.record({
    maxTokens: fc.constant(maxTokens),
    overlapTokens: fc.integer({ min: 0, max: Math.floor(maxTokens / 2) }),
  }),
);

function isWithinPair(given: string, at: number): boolean {
  return (given.codePointAt(at - 1) ?? 0) > 0xffff;
}

describe('chunks', () => {
  it('[X-14] cover the whole text in order, keep their size and their overlap, and cut no character', () => {
    fc.assert(
      fc.property(text, chunking, (given, terms) => {
        let end = 0;
        let before = 0;
        for (const range of chunkRanges(given, terms)) {
          const overlap = given.slice(range.start, end);
          expect(range.start).toBeLessThanOrEqual(end);
          expect(range.end).toBeGreaterThan(end);
          expect(range.start === 0 || range.start > before).toBe(true);
          expect(estimatedTokens(given.slice(range.start, range.end))).toBeLessThanOrEqual(terms.maxTokens);
          expect(estimatedTokens(overlap)).toBeLessThanOrEqual(terms.overlapTokens);
          expect([range.start, range.end].some((at) => isWithinPair(given, at))).toBe(false);
          end = range.end;
          before = range.start;
        }
        expect(end).toBe(given.length);
      }),
      { numRuns: 200 },
    );
  });

  it('[X-14] end with paragraphs or sentences where one ends near', () => {
    const sentence = 'The quick brown fox jumps over the lazy dog. ';
    const paragraph = `${sentence.repeat(8).trim()}\n\n`;
    const [first = ''] = chunkText(paragraph.repeat(4), { maxTokens: 100, overlapTokens: 0 });
    const [second = ''] = chunkText(sentence.repeat(40), { maxTokens: 100, overlapTokens: 0 });
    expect([first.endsWith('.\n\n'), second.endsWith('. ')]).toEqual([true, true]);
  });

  it('[X-14] share the end of the one before, from a word on', () => {
    const words = Array.from({ length: 400 }, (_, at) => `word${at}`).join(' ');
    const [first = '', second = ''] = chunkText(words, { maxTokens: 100, overlapTokens: 50 });
    const shared = first.slice(first.indexOf(second.slice(0, 20)));
    expect([second.startsWith('word'), second.startsWith(shared), estimatedTokens(shared) > 40]).toEqual([
      true,
      true,
      true,
    ]);
  });

  it('[X-14] are none for a text without any', () => {
    expect(chunkText(' \n\n '.repeat(2000), { maxTokens: 100, overlapTokens: 0 })).toEqual([]);
  });
});
