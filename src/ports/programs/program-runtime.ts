/** The port to a runtime for programs that the model writes, and that call tools. */

/** What a program is begun with. */
export interface ProgramStart {
  /** JavaScript, with `await` at the top level. */
  readonly code: string;
  /** The names of the functions that it finds in `tools`. */
  readonly tools: readonly string[];
  /** Of its clock, in milliseconds since 1970: the program that runs again sees the same times. */
  readonly startedAt: number;
  /** Of its random numbers: 64 hexadecimal digits. */
  readonly seed: string;
  /** The most calls that it may make. */
  readonly maxCalls: number;
}

/** A call that a program makes. */
export interface ProgramCall {
  /** One of the names that it was begun with; not checked. */
  readonly name: string;
  /** JSON; not checked. */
  readonly arguments: string;
}

/** What a program receives of a call. */
export interface ProgramCallResult {
  /** What the tool answered; JSON arrives parsed. */
  readonly text: string;
  /** Whether the call throws `text` as an error. */
  readonly failed: boolean;
}

/** How far a program has come: it waits for calls, of which there is at least one, or it has ended. */
export type ProgramStep =
  | {
      /** The calls that it waits for. */
      readonly calls: readonly ProgramCall[];
    }
  | {
      /** What it wrote. */
      readonly text: string;
      /** Why it did not end well; undefined if it did. */
      readonly error: string | undefined;
    };

/** A program that runs, or waits. */
export interface RunningProgram {
  /**
   * Gives it the results of all calls that it waits for, in their order, and resolves when it waits for others or has ended. One caller at
   * a time. Rejects with `ContainerLostError` if it exceeded a limit, and with the signal's reason once aborted; it is then gone.
   */
  goOn(results: readonly ProgramCallResult[], signal: AbortSignal): Promise<ProgramStep>;
  /** Ends it, whatever it is doing. May be called twice. */
  close(): Promise<void>;
}

/** Begins programs. */
export interface ProgramRuntime {
  /** A new one, which does nothing before `goOn`. `tenant` is whose it is; rejects if none can be begun. */
  begin(start: ProgramStart, signal: AbortSignal, tenant?: string): Promise<RunningProgram>;
}
