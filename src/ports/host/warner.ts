/** Tells the host what it should know, by its own function or as a warning of the process. */

/** What the function throws becomes a warning too. */
export function warner(onWarning: (message: string) => void = processWarning): (message: string) => void {
  return function warn(message) {
    try {
      onWarning(message);
    } catch (error) {
      processWarning(`onWarning threw: ${error}`);
    }
  };
}

/** A warning of the process, by the name that all of this package's warnings have. */
export function processWarning(message: string): void {
  process.emitWarning(message, 'ExpressOpenResponsesWarning');
}

const given = new Set<string>();

/** The same, once in the life of the process for each subject. */
export function warnOnce(subject: string, message: string): void {
  if (given.has(subject)) return;
  given.add(subject);
  processWarning(message);
}
