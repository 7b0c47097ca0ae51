/** How batches of both APIs begin, and how they are cancelled. */

import { drainError } from '../../../engine/request/activity.ts';
import type { ResponseKey } from '../../../ports/store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { type Batch, type BatchState, hasEnded, NO_COUNTS, withStatus } from '../batch.ts';
import type { BatchRecords } from '../batch-records.ts';
import type { BatchRunner } from '../running/batch-runner.ts';
import type { BatchesSettings } from '../settings.ts';

/** Stores the batch and hands it to the engine. Throws `server_draining`, `too_many_batches` and `store_error`; then nothing stays. */
export async function beginBatch(
  key: ResponseKey,
  state: BatchState,
  { batchLimits }: Pick<BatchesSettings, 'batchLimits'>,
  records: BatchRecords,
  runner: BatchRunner,
): Promise<Batch> {
  if (runner.isDraining) throw drainError();
  const batch = await records.create(key, state);
  try {
    if (!(await records.activate(key, batchLimits.batches))) {
      const message = `You have ${batchLimits.batches} batches that have not ended, which is as many as this server allows. Try again once one has.`;
      throw new ApiError('too_many_batches', message, { headers: { 'retry-after': '60' } });
    }
    await runner.advance(batch);
    return batch;
  } catch (error) {
    await records.delete(batch).catch(() => {});
    throw error;
  }
}

/** Cancels the batch unless it has ended or its results are being written; undefined if it is deleted. Throws `store_error`. */
export async function cancelBatch(
  batch: Batch,
  records: BatchRecords,
  runner: BatchRunner,
): Promise<Batch | undefined> {
  const cancelled = await records.change(batch, (current) => {
    const { state } = current;
    if (hasEnded(current) || state.status === 'cancelling' || state.status === 'finalizing') return undefined;
    // What the engine does not have yet is not begun any more.
    const parts = state.parts.map((part, place) => (place < state.submitted ? part : { ...part, ended: NO_COUNTS }));
    return withStatus({ ...state, parts, submitted: parts.length }, 'cancelling');
  });
  if (!cancelled) return undefined;
  await runner.noteChange(cancelled);
  // Also where an earlier request has cancelled it, which may have failed here. What was given back is ended by the next process.
  if (!runner.isDraining) await runner.advance(cancelled);
  return cancelled;
}
