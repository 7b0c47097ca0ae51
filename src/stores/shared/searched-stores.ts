/** Whether an embedding can be compared with those of the searched vector stores. */
import { DimensionMismatch } from '../../ports/vectors/vector-index.ts';

/** Throws for embeddings of another length than the stored ones; undefined if there are none. */
export function checkDimensions(embedding: Float32Array, stored: number | undefined): void {
  if (stored !== undefined && stored !== embedding.length) throw new DimensionMismatch(embedding.length, stored);
}
