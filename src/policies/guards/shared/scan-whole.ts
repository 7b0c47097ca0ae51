/** Scans a whole text, a long one in slices between which other requests have their turn. */
import { setImmediate } from 'node:timers/promises';
import type { GuardFinding, GuardScan } from '../../../ports/guard.ts';
import type { MaybePromise } from '../../../ports/store.ts';

/** A guard's `scan`. */
type Scan = (text: string, from: number, isEnd: boolean) => GuardScan;

/** Scanned without a pause: some milliseconds, and some tens of them where somebody makes it hard. */
const SLICE_LENGTH = 32 * 1024;
/** As much of what is decided is seen again, as in a stream. */
const CONTEXT_LENGTH = 64;

/** What the guard finds. Rejects when the signal is aborted. */
export function scanWhole(text: string, scan: Scan, signal: AbortSignal): MaybePromise<readonly GuardFinding[]> {
  return text.length <= SLICE_LENGTH ? scan(text, 0, true).findings : scanSlices(text, scan, signal);
}

async function scanSlices(text: string, scan: Scan, signal: AbortSignal): Promise<readonly GuardFinding[]> {
  const all: GuardFinding[] = [];
  let from = 0;
  for (let to = SLICE_LENGTH; ; to += SLICE_LENGTH) {
    const start = Math.max(0, from - CONTEXT_LENGTH);
    const isEnd = to >= text.length;
    const { findings, settled } = scan(text.slice(start, to), from - start, isEnd);
    for (const each of findings) all.push({ ...each, start: each.start + start, end: each.end + start });
    if (isEnd) return all;
    from = start + settled;
    await setImmediate();
    signal.throwIfAborted();
  }
}
