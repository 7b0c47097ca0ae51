/** The port to a runtime for the model's code. */

/** A file by its name inside the container, such as `data.csv`. */
export interface CodeFile {
  /** Without folders. */
  readonly name: string;
  /** The content. */
  readonly data: Uint8Array;
}

/**
 * The result of one run. `error` is the traceback if the code raised; `result` the value of its last expression as
 * text; `files` what it wrote or changed in its working directory.
 */
export interface CodeRun {
  /** What the code printed, cut off at the runtime's limit. */
  readonly stdout: string;
  /** What the code wrote to standard error, cut off at the runtime's limit. */
  readonly stderr: string;
  /** The value of the last expression, as text; undefined if there is none. */
  readonly result: string | undefined;
  /** The traceback; undefined if the code did not raise. */
  readonly error: string | undefined;
  /** The files that the code wrote or changed. */
  readonly files: readonly CodeFile[];
}

/** One place where code runs and keeps its state between runs. Runs are sequential. */
export interface CodeContainer {
  /**
   * Rejects with `ContainerLostError` if the container exited or was killed (time, memory, crash), and with the
   * signal's reason once aborted; the container is then gone. A run that was aborted while it waited for another leaves
   * the container running.
   */
  run(code: string, signal: AbortSignal): Promise<CodeRun>;
  /** Makes a file readable for the code. */
  put(file: CodeFile): Promise<void>;
  /** Whether it can still run code. */
  readonly alive: boolean;
  /** Ends it, even during a run. May be called twice. */
  close(): Promise<void>;
}

/** Creates containers. */
export interface CodeRuntime {
  /** A short name for messages, such as `pyodide`. */
  readonly name: string;
  /**
   * A new container; rejects if none is available. `tenant` is whose it will be, so that a runtime with a bounded number can
   * share them out; the callers without one share theirs.
   */
  create(signal: AbortSignal, tenant?: string): Promise<CodeContainer>;
  /** Ends every container. May be called twice. */
  close(): Promise<void>;
}

/** The reason why a container ended: a limit that the code exceeded, a crash, or `close`. */
export type LostReason = 'timeout' | 'memory' | 'output' | 'crash' | 'closed';

/**
 * The container is gone, and with it the code's state. The message is fit for the model; the `cause`, if any, is for
 * your logs.
 */
export class ContainerLostError extends Error {
  override readonly name = 'ContainerLostError';
  /** What ended the container. */
  readonly reason: LostReason;

  constructor(reason: LostReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
