/** Joins the results of the search by meaning with those of the search by words. */
import type { FoundChunk } from '../../ports/vectors/vector-index.ts';

/** The share of both kinds of search; their sum is 1. */
export interface SearchWeights {
  /** The share of the search by meaning: the nearest embeddings. */
  readonly meaning: number;
  /** The share of the full-text search. */
  readonly words: number;
}

/** The usual constant of reciprocal rank fusion, which makes the first ranks differ less. */
const RANK_OFFSET = 60;

/**
 * Each chunk once, best first; scores are from 0 to 1. Joined by reciprocal rank: a chunk that is first in both lists has the score 1,
 * and each list gives its weight times 61 / (60 + rank). Without `byWords`, the score is the cosine similarity.
 */
export function fuse(
  byMeaning: readonly FoundChunk[],
  byWords: readonly FoundChunk[] | undefined,
  { meaning, words }: SearchWeights,
): readonly FoundChunk[] {
  if (!byWords) return byMeaning.map((chunk) => ({ ...chunk, score: clampScore(chunk.score) }));
  const fused = new Map<string, FoundChunk>();
  for (const [list, weight] of [[byMeaning, meaning] as const, [byWords, words] as const]) {
    for (const [rank, chunk] of list.entries()) {
      const key = `${chunk.store}\0${chunk.file}\0${chunk.place}`;
      // 1 for the first rank, and less for each further one.
      const share = (RANK_OFFSET + 1) / (RANK_OFFSET + 1 + rank);
      fused.set(key, { ...chunk, score: clampScore((fused.get(key)?.score ?? 0) + weight * share) });
    }
  }
  return [...fused.values()].toSorted((one, other) => other.score - one.score);
}

/** The score from 0 to 1, despite rounding errors, and for a vector of zeros, whose similarity is NaN. */
function clampScore(score: number): number {
  return Number.isFinite(score) ? Math.min(1, Math.max(0, score)) : 0;
}
