/** Which vector stores have chunks to find, and whether an embedding can be compared with them. */
import { DimensionMismatch, type StoredVectorStore } from '../../ports/vectors/vector-index.ts';

/** Whether the vector store was idle for too long. */
export function hasExpired({ lastActiveAt, expiresAfterMs }: StoredVectorStore, now: number): boolean {
  return expiresAfterMs !== undefined && now >= lastActiveAt + expiresAfterMs;
}

/** Throws for embeddings of another length than the stored ones; undefined if there are none. */
export function checkDimensions(embedding: Float32Array, stored: number | undefined): void {
  if (stored !== undefined && stored !== embedding.length) throw new DimensionMismatch(embedding.length, stored);
}
