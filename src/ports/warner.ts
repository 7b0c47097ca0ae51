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

function processWarning(message: string): void {
  process.emitWarning(message, 'ExpressOpenResponsesWarning');
}
