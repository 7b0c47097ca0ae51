/** Vector stores, their files and batches as clients receive them. */

import {
  type FileCounts,
  isStoreExpired,
  type StoredVectorStore,
  type VectorBatch,
  type VectorFile,
} from '../../ports/vectors/vector-index.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { unixSeconds } from '../../protocol/reply.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The days as they are stored. */
export function expiryMs(expiry: { readonly days: number } | null | undefined): { readonly expiresAfterMs?: number } {
  return expiry ? { expiresAfterMs: expiry.days * DAY_MS } : {};
}

/** OpenAI's vector store. */
export function storeResource(store: StoredVectorStore, counts: FileCounts): JsonObject {
  const { id, name, metadata, createdAt, lastActiveAt, expiresAfterMs } = store;
  const isExpired = isStoreExpired(store, Date.now());
  const expiry =
    expiresAfterMs === undefined
      ? { expires_after: null, expires_at: null }
      : {
          expires_after: { anchor: 'last_active_at', days: Math.round(expiresAfterMs / DAY_MS) },
          expires_at: unixSeconds(lastActiveAt + expiresAfterMs),
        };
  return {
    id,
    object: 'vector_store',
    created_at: unixSeconds(createdAt),
    name,
    usage_bytes: counts.bytes,
    file_counts: countsResource(counts),
    status: isExpired ? 'expired' : counts.in_progress > 0 ? 'in_progress' : 'completed',
    ...expiry,
    last_active_at: unixSeconds(lastActiveAt),
    metadata,
  };
}

/** OpenAI's file of a vector store. */
export function fileResource({ id, store, createdAt, status, bytes, error, ...file }: VectorFile): JsonObject {
  const { attributes, chunking } = file;
  return {
    id,
    object: 'vector_store.file',
    usage_bytes: bytes,
    created_at: unixSeconds(createdAt),
    vector_store_id: store,
    status,
    last_error: error ?? null,
    chunking_strategy: {
      type: 'static',
      static: { max_chunk_size_tokens: chunking.maxTokens, chunk_overlap_tokens: chunking.overlapTokens },
    },
    attributes,
  };
}

/** OpenAI's batch. */
export function batchResource({ id, store, createdAt }: VectorBatch, counts: FileCounts): JsonObject {
  const { in_progress: open, completed, failed, cancelled } = counts;
  let status = 'completed';
  if (open > 0) status = 'in_progress';
  else if (cancelled > 0) status = 'cancelled';
  // Files that failed are counted; the batch has failed only if all of them did.
  else if (completed === 0 && failed > 0) status = 'failed';
  return {
    id,
    object: 'vector_store.files_batch',
    created_at: unixSeconds(createdAt),
    vector_store_id: store,
    status,
    file_counts: countsResource(counts),
  };
}

function countsResource({ bytes: _, ...counts }: FileCounts): JsonObject {
  const { in_progress, completed, failed, cancelled } = counts;
  return { in_progress, completed, failed, cancelled, total: in_progress + completed + failed + cancelled };
}
