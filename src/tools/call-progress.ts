/** The progress of a call, as its tool tells it, for the host's hook. */
import type { ToolProgress } from '../ports/tool-provider.ts';
import { isRecord } from '../protocol/record.ts';

/** A tool may tell its progress thousands of times a second. */
const PAUSE_MS = 100;
const MESSAGE_CHARACTERS = 1_024;

/** Tells of progress at most ten times a second, and of nothing that is none. */
export function progressTeller(tell: (progress: ToolProgress) => void): (progress: unknown) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (told) => {
    const now = performance.now();
    const progress = now - toldAt < PAUSE_MS ? undefined : checked(told);
    if (!progress) return;
    toldAt = now;
    tell(progress);
  };
}

/** Providers are the host's, and not all of them are type-checked; what they tell is their servers' own. */
function checked(told: unknown): ToolProgress | undefined {
  if (!isRecord(told) || !Number.isFinite(told.progress)) return undefined;
  const { progress, total, message } = told;
  return {
    // The casts: just checked.
    progress: progress as number,
    ...(Number.isFinite(total) ? { total: total as number } : {}),
    ...(typeof message === 'string' ? { message: message.slice(0, MESSAGE_CHARACTERS) } : {}),
  };
}
