/** Reports when a model begins to answer, where somebody reads the steps of requests. */
import type { OnStep } from '../../ports/step.ts';
import { stopwatch } from '../../ports/step.ts';
import type { ModelEvent } from '../../protocol/events.ts';
import { mapStream } from '../../streams/pull-stream.ts';

/** Events that are not the model's own words. */
const FACTS: ReadonlySet<ModelEvent['type']> = new Set(['model-info', 'usage', 'finish']);

/** Whether the model has begun to answer in this batch. */
export function holdsOutput(batch: readonly ModelEvent[]): boolean {
  return batch.some(({ type }) => !FACTS.has(type));
}

/** The same batches; the first with output is reported. Each stage costs time for every token, so nobody gets one unasked. */
export function withFirstOutput<Batch>(
  batches: AsyncIterable<Batch>,
  isOutput: (batch: Batch) => boolean,
  requestId: string,
  onStep: OnStep,
): AsyncIterable<Batch> {
  const elapsed = stopwatch();
  let isSilent = true;
  return mapStream(batches, {
    map(batch) {
      if (isSilent && isOutput(batch)) {
        isSilent = false;
        onStep({ name: 'first output', requestId, ms: elapsed() });
      }
      return batch;
    },
  });
}
