/** Reciprocal rank fusion: what its scores keep to, for any lists. */
import fc from 'fast-check';
import { fuse } from '../../../src/engine/indexing/fuse.ts';
import { searchTerms } from '../../../src/engine/indexing/search-terms.ts';
import type { FoundChunk } from '../../../src/ports/vectors/vector-index.ts';

const chunk = (place: number, score = 0.5): FoundChunk => ({
  ...{ store: 'vs', file: 'file', filename: 'a.txt', attributes: {}, text: 'a' },
  ...{ place, score },
});
const list = fc.uniqueArray(fc.nat(40), { maxLength: 20 }).map((places) => places.map((place) => chunk(place)));
const lists = fc.tuple(list, list);
const weights = fc.double({ min: 0, max: 1, noNaN: true }).map((meaning) => ({ meaning, words: 1 - meaning }));
const EQUAL = { meaning: 0.5, words: 0.5 };
const scores = (found: readonly FoundChunk[]) => new Map(found.map(({ place, score }) => [place, score]));

describe('fusion by rank', () => {
  it('[X-14] has the scores of its formula', () => {
    const found = fuse([chunk(1), chunk(2)], [chunk(2), chunk(3)], { meaning: 0.7, words: 0.3 });
    expect(found.map(({ place, score }) => [place, Number(score.toFixed(6))])).toEqual([
      [2, Number(((0.7 * 61) / 62 + 0.3).toFixed(6))],
      [1, 0.7],
      [3, Number(((0.3 * 61) / 62).toFixed(6))],
    ]);
  });

  it('[X-14] has what is first by words alone among the first two, however many there are by meaning', () => {
    const many = Array.from({ length: 50 }, (_, place) => chunk(place));
    const found = fuse(many, [chunk(99)], searchTerms({}).weights);
    expect(found.slice(0, 2).map(({ place }) => place)).toEqual([0, 99]);
  });

  it('[X-14] finds each chunk once, best first, from 0 to 1, and the same every time', () => {
    const property = fc.property(lists, weights, ([meaning, words], weight) => {
      const found = fuse(meaning, words, weight);
      expect(new Set(found.map(({ place }) => place)).size).toBe(found.length);
      expect(new Set([...meaning, ...words].map(({ place }) => place)).size).toBe(found.length);
      expect(found.map(({ score }) => score).toSorted((one, other) => other - one)).toEqual(
        found.map(({ score }) => score),
      );
      expect(found.every(({ score }) => score >= 0 && score <= 1)).toBe(true);
      expect(fuse(meaning, words, weight)).toEqual(found);
    });
    fc.assert(property);
  });

  it('[X-14] keeps the order of a list where the other has nothing', () => {
    const property = fc.property(lists, ([list]) => {
      expect(fuse(list, [], EQUAL).map(({ place }) => place)).toEqual(list.map(({ place }) => place));
      expect(fuse([], list, EQUAL).map(({ place }) => place)).toEqual(list.map(({ place }) => place));
    });
    fc.assert(property);
  });

  it('[X-14] gives no chunk a lower score for a better rank', () => {
    const property = fc.property(lists, weights, ([meaning, words], weight) => {
      const [first, second, ...rest] = meaning;
      if (!first || !second) return;
      const before = scores(fuse([first, second, ...rest], words, weight)).get(second.place) ?? 0;
      const after = scores(fuse([second, first, ...rest], words, weight)).get(second.place) ?? 0;
      expect(after).toBeGreaterThanOrEqual(before);
    });
    fc.assert(property);
  });

  it('[X-14] treats both lists alike with equal weights', () => {
    const property = fc.property(lists, ([meaning, words]) => {
      const [one, other] = [scores(fuse(meaning, words, EQUAL)), scores(fuse(words, meaning, EQUAL))];
      for (const [place, score] of one) expect(other.get(place)).toBeCloseTo(score, 12);
    });
    fc.assert(property);
  });

  it('[X-14] puts what both lists have before what one has at the same rank', () => {
    const property = fc.property(fc.nat(19), weights, (at, weight) => {
      if (weight.meaning === 0 || weight.words === 0) return;
      const others = (from: number) => Array.from({ length: at }, (_, count) => chunk(from + count));
      const both = chunk(1);
      const found = scores(fuse([...others(100), both], [...others(200), both], weight));
      const alone = scores(fuse([...others(100), both], others(200), weight));
      expect(found.get(1)).toBeGreaterThan(alone.get(1) ?? 1);
    });
    fc.assert(property);
  });

  it('[X-14] is the cosine similarity where words do not count', () => {
    const found = fuse([chunk(1, 0.9), chunk(2, -0.5), chunk(3, Number.NaN)], undefined, { meaning: 1, words: 0 });
    expect(found.map(({ score }) => score)).toEqual([0.9, 0, 0]);
  });
});
