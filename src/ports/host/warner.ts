/** Reports warnings to the host, by its own function or as a process warning. */

/** An error that the function throws becomes a warning too. */
export function warner(onWarning: (message: string) => void = processWarning): (message: string) => void {
  return function warn(message) {
    try {
      onWarning(message);
    } catch (error) {
      processWarning(`onWarning threw: ${error}`);
    }
  };
}

/** A process warning, with the name that all warnings of this package have. */
export function processWarning(message: string): void {
  process.emitWarning(message, 'ExpressOpenResponsesWarning');
}

const given = new Set<string>();

/** The same, once per process for each subject. */
export function warnOnce(subject: string, message: string): void {
  if (given.has(subject)) return;
  given.add(subject);
  processWarning(message);
}
