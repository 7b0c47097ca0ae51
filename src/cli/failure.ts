/** Why the program cannot start. */

/** Its message is one line for the terminal; `status` is that of the process. */
export class Failure extends Error {
  /** 2 for a wrong command line, 1 for what this machine or another server refuses. */
  readonly status: 1 | 2;

  constructor(message: string, status: 1 | 2, cause?: unknown) {
    super(message, { cause });
    this.status = status;
  }
}

/** The command line is wrong. */
export function wrongUsage(message: string, cause?: unknown): Failure {
  return new Failure(`${message}. See --help.`, 2, cause);
}

/** The message of what was thrown, on one line and without what would move a terminal's cursor. */
export function messageOf(error: unknown): string {
  const { message, code } = Object(error);
  return String(message || code || error)
    .replace(/[^\P{C}\n]/gu, '?')
    .replaceAll('\n', ' ');
}
