/** What the listed responses have in common: their numbers, and when they arrived. */
import type { Recording } from '../recording/recording.ts';

/** Intervals in which arrivals are counted. */
const INTERVALS = 60;
const FAILED: ReadonlySet<string> = new Set(['failed', 'refused']);

/** The sums and the usual times of these responses; `null` where none is known. Its time is that of sorting the times. */
export function summarize(found: readonly Recording[]) {
  const costs = withoutGaps(found.map(({ cost }) => cost));
  const firsts = sortTimes(found.map(({ firstOutput }) => firstOutput));
  const durations = sortTimes(found.map(({ duration, status }) => (FAILED.has(status) ? undefined : duration)));
  return {
    running: found.filter(({ isRunning }) => isRunning).length,
    failed: found.filter(({ status }) => FAILED.has(status)).length,
    inputTokens: total(withoutGaps(found.map(({ usage }) => usage?.input_tokens))),
    outputTokens: total(withoutGaps(found.map(({ usage }) => usage?.output_tokens))),
    cost: costs.length > 0 ? total(costs) : null,
    firstOutput: quantile(firsts, 0.5),
    duration: quantile(durations, 0.5),
    slowest: quantile(durations, 0.95),
    activity: countArrivals(found),
  };
}

/** The arrivals in equal intervals, from the first to the last. */
function countArrivals(newestFirst: readonly Recording[]) {
  const to = newestFirst[0]?.startedAt ?? 0;
  const from = newestFirst.at(-1)?.startedAt ?? 0;
  const intervals = Array.from({ length: INTERVALS }, () => ({ all: 0, failed: 0 }));
  for (const { startedAt, status } of newestFirst) {
    const place = Math.floor(((startedAt - from) / Math.max(to - from, 1)) * INTERVALS);
    const interval = intervals[Math.min(Math.max(place, 0), INTERVALS - 1)] as { all: number; failed: number };
    interval.all += 1;
    if (FAILED.has(status)) interval.failed += 1;
  }
  return { from, to, intervals };
}

function withoutGaps(values: readonly (number | undefined)[]): readonly number[] {
  return values.filter((value) => value !== undefined);
}

function sortTimes(values: readonly (number | undefined)[]): Float64Array {
  return Float64Array.from(withoutGaps(values)).sort();
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function quantile(inOrder: Float64Array, part: number): number | null {
  return inOrder[Math.min(Math.floor(inOrder.length * part), inOrder.length - 1)] ?? null;
}
