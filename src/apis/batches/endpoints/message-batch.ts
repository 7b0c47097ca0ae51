/** A batch as Anthropic's clients see it. */
import type { JsonObject } from '../../../protocol/record.ts';
import { type Batch, type BatchCounts, hasEnded } from '../batch.ts';

/** Anthropic's message batch object; `resultsUrl` is where its results are, once there are any. */
export function messageBatch(batch: Batch, { completed, failed }: BatchCounts, resultsUrl: string): JsonObject {
  const { id, createdAt, state } = batch;
  const { status, times, expiresAt, total } = state;
  const isEnded = hasEnded(batch);
  const time = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  const rest = Math.max(total - completed - failed, 0);
  const endedAt = times.completed ?? times.expired ?? times.cancelled ?? times.failed;
  return {
    id,
    type: 'message_batch',
    processing_status: isEnded ? 'ended' : status === 'cancelling' ? 'canceling' : 'in_progress',
    request_counts: {
      processing: isEnded ? 0 : rest,
      succeeded: completed,
      errored: failed + (status === 'failed' ? rest : 0),
      canceled: status === 'cancelled' ? rest : 0,
      expired: status === 'expired' ? rest : 0,
    },
    created_at: time(createdAt),
    expires_at: time(expiresAt),
    ended_at: time(endedAt),
    cancel_initiated_at: time(times.cancelling),
    archived_at: null,
    results_url: isEnded ? resultsUrl : null,
  };
}
