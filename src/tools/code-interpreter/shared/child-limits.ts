/** Limits the process of a container from inside. */

/** The limits that hold inside; the host has others. */
export interface ChildLimits {
  /** The memory of WebAssembly. */
  readonly wasmBytes: number;
  /** The limit for each of stdout, stderr, the result and the traceback. */
  readonly outputBytes: number;
  /** The limit for all files that one run returns. */
  readonly fileBytes: number;
  readonly files: number;
}
