/** The port to a runtime for the model's code. */

/** A file by its name inside the container, such as `data.csv` or `plots/one.png`. */
export interface CodeFile {
  /** Its path below the working directory, with `/` between folders. */
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
  /** The names of files that were there before and that the code removed; undefined if the runtime cannot tell. */
  readonly removed?: readonly string[] | undefined;
}

/** A command for the shell of a container, and its limits. */
export interface ContainerCommand {
  /** A script for the container's shell, or a program and its arguments, which no shell reads. */
  readonly command: string | readonly string[];
  /** After this time, in milliseconds, the command ends with all that it has started; the container stays. Default: the runtime's limit of a run. */
  readonly timeoutMs?: number | undefined;
  /** The most bytes of each output that are given back. Default: the runtime's limit; never more than that. */
  readonly outputBytes?: number | undefined;
}

/** The result of one command, in the container's working directory. */
export interface CommandRun extends Pick<CodeRun, 'stdout' | 'stderr' | 'files' | 'removed'> {
  /** The exit code, which is 128 and the signal's number for a command that a signal has ended; undefined if its time was over. */
  readonly exitCode: number | undefined;
}

/** What a container may use, beside the runtime's own limits. */
export interface ContainerTerms {
  /** The most memory, in bytes. */
  readonly memoryBytes?: number | undefined;
  /** The only domains that it may reach, in lower case and without those below them; undefined for no network. */
  readonly allowedDomains?: readonly string[] | undefined;
}

/** One place where code runs and keeps its state between runs. Runs are sequential. */
export interface CodeContainer {
  /**
   * Rejects with `ContainerLostError` if the container exited or was killed (time, memory, crash), and with the
   * signal's reason once aborted; the container is then gone. A run that was aborted while it waited for another leaves
   * the container running.
   */
  run(code: string, signal: AbortSignal): Promise<CodeRun>;
  /** Runs a command. Rejects as `run` does. Absent where the runtime runs no commands. */
  exec?(command: ContainerCommand, signal: AbortSignal): Promise<CommandRun>;
  /** Makes a file readable for the code, in folders that are made where they are missing. Replaces one of the same name. */
  put(file: CodeFile): Promise<void>;
  /** Removes a file that was put there or written; one that is gone already is no error. Absent where the runtime cannot. */
  remove?(name: string): Promise<void>;
  /** Whether it can still run code. */
  readonly alive: boolean;
  /** Ends it, even during a run. May be called twice. */
  close(): Promise<void>;
}

/** Creates containers. */
export interface CodeRuntime {
  /** A short name for messages, such as `pyodide`. */
  readonly name: string;
  /** Whether its containers run Python. Default: true. */
  readonly runsCode?: boolean | undefined;
  /** Whether its containers run commands, by `exec`. Default: false. */
  readonly runsCommands?: boolean | undefined;
  /** The memory that each container has at most, in bytes, if it is known. */
  readonly memoryBytes?: number | undefined;
  /** How many containers there are at most, of which a tenant leaves one to the others; undefined for no bound. */
  readonly maxContainers?: number | undefined;
  /** The largest file that a container takes, in bytes, if it is known. */
  readonly fileBytes?: number | undefined;
  /** The terms that `create` keeps to; containers with others are refused before they are asked for. Default: none. */
  readonly keepsTerms?: readonly (keyof ContainerTerms)[] | undefined;
  /** Whether it allows a domain in `allowedDomains`; a container that names another is refused. Default: every domain. */
  readonly mayReach?: ((domain: string) => boolean) | undefined;
  /**
   * A new container; rejects if none is available. `tenant` is whose it will be, so that a runtime with a bounded number can
   * share them out; the callers without one share theirs.
   */
  create(signal: AbortSignal, tenant?: string, terms?: ContainerTerms): Promise<CodeContainer>;
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
