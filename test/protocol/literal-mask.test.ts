/** The mask of literals against the plain definition of it: what stands in any occurrence is masked, nothing else is. */
import fc from 'fast-check';
import { literalMask } from '../../src/protocol/secrets/literal-mask.ts';

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 6 });
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é'), maxLength: 60 });

/** Looks for each literal at each place; occurrences that overlap share a mask, others do not. */
function plainly(literals: ReadonlySet<string>, whole: string): string {
  const spans = [...literals]
    .flatMap((literal) => [...whole].map((_, start) => ({ start, end: start + literal.length, literal })))
    .filter(({ start, literal }) => whole.startsWith(literal, start))
    .sort((one, other) => one.start - other.start);
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of spans) {
    const last = merged.at(-1);
    if (last && start < last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged.reduceRight((shown, { start, end }) => `${shown.slice(0, start)}***${shown.slice(end)}`, whole);
}

describe('literalMask', () => {
  it('[F-13] masks every occurrence of every literal and leaves the rest', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), text, (words, whole) => {
        const literals = new Set(words);
        expect(literalMask(literals)(whole)).toBe(plainly(literals, whole));
      }),
      { numRuns: 2_000 },
    );
  });

  it('[F-13] masks two secrets that share their middle, of which a list of alternatives shows the second half', () => {
    expect(literalMask(new Set(['key-abcd', 'abcd-end']))('<key-abcd-end>')).toBe('<***>');
  });
});
