/** The only times that tests may know: so long that a busy machine needs far less, and that a test which waits for one fails. */
import { withLimits } from './limits.ts';

/** How long a test waits for something that it cannot be told of. */
export const PATIENCE_MS = 90_000;

const HOUR_MS = 60 * 60 * 1000;

/** Settings that end nothing within a test: what is left at once is told from what is left at a limit, without a clock. */
export const HOUR_LONG_SETTINGS = {
  firstByteTimeoutMs: HOUR_MS,
  idleTimeoutMs: HOUR_MS,
  storeTimeoutMs: HOUR_MS,
  toolTimeoutMs: HOUR_MS,
  toolMaxMs: HOUR_MS,
  queueTimeoutMs: HOUR_MS,
  durationMs: HOUR_MS,
} as const;

/** The same as the option `limits`. */
export const HOUR_LONG_LIMITS = withLimits(HOUR_LONG_SETTINGS, (limits) => limits);

/** The longest that a drain may wait, for those that have nothing to wait for. */
export const HOUR_LONG_DRAIN = { timeoutMs: HOUR_MS } as const;
