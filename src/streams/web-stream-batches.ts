/** Reads a web stream in batches: it hands out its parts one by one, although many have arrived together. */
import { setImmediate as tick } from 'node:timers/promises';
import { untilAborted } from './until-aborted.ts';

/** Parts that are handed on together at most. */
const MAX_BATCH = 256;
const LATER = Symbol('later');

/** The parts that arrived together; `arrived` is called for each batch. Rejects as the stream does, or with the reason of the signal. */
export async function* webStreamBatches(
  stream: ReadableStream,
  signal: AbortSignal,
  arrived: () => void,
): AsyncGenerator<{ readonly data: readonly unknown[] }, void> {
  const reader = stream.getReader();
  try {
    for (let next = reader.read(); ; ) {
      const pending = next;
      const first = await untilAborted(signal, () => pending);
      if (first.done) return;
      const data: unknown[] = [first.value];
      const later = tick(LATER);
      next = reader.read();
      while (data.length < MAX_BATCH) {
        // A failure and the end are met where the next batch begins.
        const quick = await Promise.race([next.catch(() => LATER), later]);
        if (typeof quick === 'symbol' || quick.done) break;
        data.push(quick.value);
        next = reader.read();
      }
      next.catch(() => {});
      arrived();
      yield { data };
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
