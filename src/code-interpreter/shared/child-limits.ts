/** What bounds the process of a container from inside. */

/** The limits that hold inside; the host has others. */
export interface ChildLimits {
  /** The memory of WebAssembly. */
  readonly wasmBytes: number;
  /** Of each of stdout, stderr, the result and the traceback. */
  readonly outputBytes: number;
  /** Of all files that one run gives back. */
  readonly fileBytes: number;
  readonly files: number;
}
