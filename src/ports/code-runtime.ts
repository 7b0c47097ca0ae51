/** The port to whatever runs the model's code. */

/** A file by its name inside the container, such as `data.csv`. */
export interface CodeFile {
  readonly name: string;
  readonly data: Uint8Array;
}

/**
 * What one run gave. `error` is the traceback where the code raised; `result` the value of its last expression as text;
 * `files` what it wrote or changed in its working directory.
 */
export interface CodeRun {
  readonly stdout: string;
  readonly stderr: string;
  readonly result: string | undefined;
  readonly error: string | undefined;
  readonly files: readonly CodeFile[];
}

/** One place where code runs and keeps its state between runs. Runs are one after another. */
export interface CodeContainer {
  /**
   * Rejects with `ContainerLostError` where the container died or was killed (time, memory, crash), and with the signal's
   * reason once aborted; it is then gone. A run that was aborted while it waited for another leaves the container alive.
   */
  run(code: string, signal: AbortSignal): Promise<CodeRun>;
  /** Makes a file readable for the code. */
  put(file: CodeFile): Promise<void>;
  readonly alive: boolean;
  /** Ends it, whatever runs. May be called twice. */
  close(): Promise<void>;
}

/** Where containers come from. */
export interface CodeRuntime {
  readonly name: string;
  /** A fresh container; rejects where none can be had. */
  create(signal: AbortSignal): Promise<CodeContainer>;
  /** Ends every container. May be called twice. */
  close(): Promise<void>;
}

/** What ended a container: a limit that the code went over, a crash, or `close`. */
export type LostReason = 'timeout' | 'memory' | 'output' | 'crash' | 'closed';

/** The container is gone, and with it what the code had kept there. The message is fit for the model; the `cause`, if any, is for your logs. */
export class ContainerLostError extends Error {
  override readonly name = 'ContainerLostError';
  readonly reason: LostReason;

  constructor(reason: LostReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
