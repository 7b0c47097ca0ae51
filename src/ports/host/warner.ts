/** Warnings of the process, for what a host should see although it has no logger. */

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
