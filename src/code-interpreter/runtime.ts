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
   * reason once aborted; it is then gone.
   */
  run(code: string, signal: AbortSignal): Promise<CodeRun>;
  /** Makes a file readable for the code. */
  put(file: CodeFile): Promise<void>;
  readonly alive: boolean;
  close(): Promise<void>;
}

/** Makes containers. */
export interface CodeRuntime {
  readonly name: string;
  /** A fresh container; rejects where none can be had. */
  create(signal: AbortSignal): Promise<CodeContainer>;
  close(): Promise<void>;
}

/** A container that is gone with everything in it; `reason` says why, in words for the model. */
export class ContainerLostError extends Error {
  override readonly name = 'ContainerLostError';
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super(
      `${reason} The container is gone, and with it all variables and files; the next run begins in a new one.`,
      options,
    );
    this.reason = reason;
  }
}
