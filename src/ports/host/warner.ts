/** Reports warnings to the host, by its own function or as a process warning. */
import { isPromise } from '../../protocol/record.ts';

/** An error that the function throws, now or later, becomes a warning too. */
export function warner(onWarning: (message: string) => unknown = processWarning): (message: string) => void {
  const failed = (error: unknown) => processWarning(`onWarning threw: ${error}`);
  return function warn(message) {
    try {
      const answer = onWarning(message);
      if (isPromise(answer)) answer.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  };
}

/** A process warning, with the name that all warnings of this package have. */
export function processWarning(message: string): void {
  process.emitWarning(message, 'ExpressOpenResponsesWarning');
}

const PAUSE_MS = 60_000;

/** The same, once a minute at most, for what others can cause as often as they like. */
export function throttled(warn: (message: string) => void): (message: string) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (message) => {
    const now = performance.now();
    if (now - warnedAt < PAUSE_MS) return;
    warnedAt = now;
    warn(message);
  };
}

const warnedSubjects = new Set<string>();

/** The same, once per process for each subject. */
export function warnOnce(subject: string, message: string): void {
  if (warnedSubjects.has(subject)) return;
  warnedSubjects.add(subject);
  processWarning(message);
}
