/** Gives the realm the few globals that Pyodide needs: none of them can reach a file, a socket or Node. */
import type { Door } from './door.ts';

/** Pyodide takes the first two for a shell without Node, and the third for a browser's worker, whose random numbers it uses. */
const LOADING = ['read', 'load', 'readbuffer', 'WorkerGlobalScope'];

/** Must be called before Pyodide's modules are evaluated: they look at once where they are. */
export function defineGlobals(door: Door, wasmBytes: number): void {
  capMemory(wasmBytes);
  Object.assign(globalThis, {
    ...clock(door),
    ...encodings(door),
    crypto: { getRandomValues: (view: Uint8Array) => filled(view, door) },
    read: (name: string) => door.read(name),
    readbuffer: (name: string) => bytesOf(door.read(name)).buffer,
    load: () => {},
    WorkerGlobalScope: {},
  });
}

/** Takes away what only loading needed. */
export function forgetLoading(): void {
  for (const name of LOADING) Reflect.deleteProperty(globalThis, name);
}

/** The bytes in a string of one character each. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}

/** A string of one character for each byte. */
export function textOf(bytes: Uint8Array): string {
  const SLICE = 8192;
  let text = '';
  for (let at = 0; at < bytes.length; at += SLICE) text += String.fromCharCode(...bytes.subarray(at, at + SLICE));
  return text;
}

const PAGE_BYTES = 65_536;

/** What we use of WebAssembly, which is not among the types of the language. */
interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** Python is told that there is no more memory, as on any machine, before the host must kill anything. */
function capMemory(wasmBytes: number): void {
  // The cast: every realm has WebAssembly.
  const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: { prototype: Memory } } }).WebAssembly;
  const grow = Memory.prototype.grow;
  Memory.prototype.grow = function growToCap(pages) {
    if (this.buffer.byteLength + pages * PAGE_BYTES > wasmBytes) throw new RangeError('out of memory');
    return grow.call(this, pages);
  };
}

function clock(door: Door) {
  let last = 0;
  const waiting = new Set<number>();
  return {
    performance: { now: () => door.now() },
    setTimeout(work: () => void, ms = 0) {
      last += 1;
      const timer = last;
      waiting.add(timer);
      door.later(() => {
        if (waiting.delete(timer)) work();
      }, ms);
      return timer;
    },
    clearTimeout: (timer: number) => void waiting.delete(timer),
  };
}

function encodings(door: Door) {
  class TextDecoder {
    readonly #encoding: string;
    readonly #options: { readonly fatal?: boolean; readonly ignoreBOM?: boolean };

    constructor(encoding = 'utf-8', options = {}) {
      this.#encoding = encoding;
      this.#options = options;
    }

    decode(bytes: ArrayBufferView = new Uint8Array()): string {
      const { fatal = false, ignoreBOM = false } = this.#options;
      const text = door.decode(this.#encoding, fatal, ignoreBOM, bytes);
      if (text === undefined) throw new TypeError(`The bytes are not ${this.#encoding}.`);
      return text;
    }
  }

  class TextEncoder {
    encode(text = ''): Uint8Array {
      return bytesOf(door.encode(text));
    }
  }
  return { TextDecoder, TextEncoder };
}

function filled(view: Uint8Array, door: Door): Uint8Array {
  view.set(bytesOf(door.random(view.byteLength)));
  return view;
}
