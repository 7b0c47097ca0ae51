/** Which vector stores have chunks to find, and whether an embedding can be compared with them. */
import { DimensionMismatch, type StoredVectorStore } from '../../ports/vectors/vector-index.ts';

/** When the vector store expires, in milliseconds since the epoch: infinity for one that does not. */
export function expiryOf({ lastActiveAt, expiresAfterMs = Number.POSITIVE_INFINITY }: StoredVectorStore): number {
  return lastActiveAt + expiresAfterMs;
}

/** Whether the vector store was idle for too long. */
export function hasExpired(store: StoredVectorStore, now: number): boolean {
  return now >= expiryOf(store);
}

/** Throws for embeddings of another length than the stored ones; undefined if there are none. */
export function checkDimensions(embedding: Float32Array, stored: number | undefined): void {
  if (stored !== undefined && stored !== embedding.length) throw new DimensionMismatch(embedding.length, stored);
}
