/** Which refusals of a model server are followed by another attempt, and after how long. */

/** Statuses that say that a later attempt may be answered. */
const RETRIED: ReadonlySet<unknown> = new Set([429, 502, 503, 504, 529]);

/** A server that asks for a longer pause, in milliseconds, is not asked again: the client receives its `retry-after`. */
const MAX_PAUSE_MS = 10_000;

const BACKOFF_MS = 250;

/** The pause before another attempt, in milliseconds, where the server asks for none; `retry` counts from 0. */
export function backoffMs(retry: number): number {
  return BACKOFF_MS * 2 ** retry * (0.75 + Math.random() / 2);
}

/** The pause before a refused request is made again, in milliseconds, as long as the server asks for; undefined if it must not be. */
export function refusalPauseMs(status: unknown, retry: number, askedMs = backoffMs(retry)): number | undefined {
  return RETRIED.has(status) && askedMs <= MAX_PAUSE_MS ? askedMs : undefined;
}
