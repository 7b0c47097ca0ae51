/** Which refusals of a model server are followed by another attempt, and after how long. */

/** Statuses that say that a later attempt may be answered. */
export const RETRIED: ReadonlySet<unknown> = new Set([429, 502, 503, 504, 529]);

/** A server that asks for a longer pause, in milliseconds, is not asked again: the client receives its `retry-after`. */
export const MAX_PAUSE_MS = 10_000;

const BACKOFF_MS = 250;

/** The pause before another attempt, in milliseconds, where the server asks for none; `retry` counts from 0. */
export function backoffMs(retry: number): number {
  return BACKOFF_MS * 2 ** retry * (0.75 + Math.random() / 2);
}
