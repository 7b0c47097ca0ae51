/** The one way between the realm of the code and the process around it: strings and numbers, so that no object of Node's gets in. */

/** What the process does for the realm. Bytes are strings of one character each. */
export interface Door {
  /** Sends one frame, as JSON, to the host. */
  send(frame: string): void;
  /** A file of Pyodide's own. */
  read(name: string): string;
  /** The text in the bytes, or undefined where they are not in the encoding or there is no such encoding. */
  decode(encoding: string, fatal: boolean, keepMark: boolean, bytes: ArrayBufferView): string | undefined;
  /** The text as UTF-8. */
  encode(text: string): string;
  toBase64(bytes: string): string;
  fromBase64(text: string): string;
  random(count: number): string;
  /** Milliseconds, as `performance.now`. */
  now(): number;
  later(work: () => void, ms: number): void;
}

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

/** A file in a frame; `data` is base64. */
export interface FileFrame {
  readonly name: string;
  readonly data: string;
}

/** What the host asks for; `id` comes back with the answer. */
export type AskFrame =
  | { readonly id: number; readonly type: 'run'; readonly code: string }
  | ({ readonly id: number; readonly type: 'put' } & FileFrame);
