/** When a delivery that failed is tried again. */

const FIRST_MS = 5000;
const LONGEST_MS = 4 * 60 * 60_000;
/** Deliveries are given up three days after their event. */
const GIVEN_UP_MS = 3 * 24 * 60 * 60_000;

/**
 * Milliseconds until the next attempt after so many failures: 5 seconds, then twice as long each time, up to 4 hours, with up to a
 * tenth more by `random`, from 0 to 1, so that receivers that were down are not asked by all at once. Undefined once three days
 * are over.
 */
export function nextAttemptMs(
  failures: number,
  {
    now,
    eventAt,
    random,
    wantedMs = 0,
  }: {
    readonly now: number;
    readonly eventAt: number;
    readonly random: number;
    /** As the receiver asks for by `retry-after`. */
    readonly wantedMs?: number | undefined;
  },
): number | undefined {
  const backoff = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 20), LONGEST_MS);
  const pauseMs = Math.max(Math.round(backoff * (1 + random / 10)), Math.min(wantedMs, LONGEST_MS));
  return now + pauseMs > eventAt + GIVEN_UP_MS ? undefined : pauseMs;
}
