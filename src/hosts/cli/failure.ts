/** Why the program cannot start. */

/** Its message is one line for the terminal; `status` is the exit status of the process. */
export class Failure extends Error {
  /** 2 for a wrong command line, 1 for a failure on this machine or of another server. */
  readonly status: 1 | 2;

  constructor(message: string, status: 1 | 2, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

/** The command line is wrong. */
export function usageFailure(message: string, cause?: unknown): Failure {
  return new Failure(`${message}. See --help.`, 2, cause);
}

/** The message of a thrown value, on one line and without control characters, which a terminal would obey. */
export function printableMessage(error: unknown): string {
  const { message, code } = Object(error);
  return String(message || code || error)
    .replace(/[^\P{C}\n]/gu, '?')
    .replaceAll('\n', ' ');
}
