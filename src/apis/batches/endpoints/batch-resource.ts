/** A batch as OpenAI's clients see it. */
import { definedFields, type JsonObject } from '../../../protocol/record.ts';
import { unixSeconds } from '../../../protocol/reply.ts';
import type { Batch, BatchCounts, BatchStatus } from '../batch.ts';

/** The statuses whose time is shown, and the fields that show it. */
const TIMES: readonly (readonly [status: BatchStatus, field: string])[] = [
  ['in_progress', 'in_progress_at'],
  ['finalizing', 'finalizing_at'],
  ['completed', 'completed_at'],
  ['failed', 'failed_at'],
  ['expired', 'expired_at'],
  ['cancelling', 'cancelling_at'],
  ['cancelled', 'cancelled_at'],
];

/** OpenAI's batch object. */
export function batchResource({ id, createdAt, state }: Batch, { completed, failed, usage }: BatchCounts): JsonObject {
  const { endpoint, inputFileId, status, times, expiresAt, metadata, model, total, faults } = state;
  const seconds = (ms: number | undefined) => (ms === undefined ? null : unixSeconds(ms));
  return {
    id,
    object: 'batch',
    endpoint,
    ...definedFields({ model }),
    errors: faults.length === 0 ? null : { object: 'list', data: faults },
    input_file_id: inputFileId,
    completion_window: '24h',
    status,
    output_file_id: state.outputFileId ?? null,
    error_file_id: state.errorFileId ?? null,
    created_at: seconds(createdAt),
    expires_at: seconds(expiresAt),
    ...Object.fromEntries(TIMES.map(([reached, field]) => [field, seconds(times[reached])])),
    request_counts: { total, completed, failed },
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.input + usage.output,
    },
    metadata,
  };
}
