/** Gives the realm the few globals that Pyodide needs, and removes those that lead into Node: the rest is the realm's own. */
import type { ChildLimits } from '../shared/child-limits.ts';
import { randomBytes } from './random.ts';
import { waitAsync } from './shared-memory-channel.ts';
import { TextDecoder, TextEncoder } from './text-coding.ts';

/** From the first two Pyodide detects a shell without Node, and from the third a browser's worker, whose random numbers it uses. */
const LOADING = ['read', 'load', 'readbuffer', 'WorkerGlobalScope'];

const PAGE_BYTES = 65_536;

/** The part of WebAssembly that we use, which is not among the language's types. */
interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const files = new Map<string, Uint8Array<ArrayBuffer>>();

/** The process puts Pyodide's files here, which are read while it loads. */
export function allocateFile(name: string, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  files.set(name, bytes);
  return bytes;
}

/** Must be called before Pyodide's modules are evaluated, because they detect their environment at once. `seed` has `SEED_BYTES`. */
export function defineGlobals({ wasmBytes }: ChildLimits, seed: Uint8Array): void {
  // Node formats every stack with its own function, in any realm, which throws Node's objects: errors have no stacks here.
  // Pyodide sets the limit, so it must look settable; the engine treats an accessor as no limit at all.
  Object.defineProperty(Error, 'stackTraceLimit', { get: () => 0, set: () => {}, configurable: false });
  // The cast: every realm has WebAssembly.
  const { WebAssembly } = globalThis as unknown as { WebAssembly: { Memory: { prototype: Memory } } };
  // Node answers these two with errors of its own.
  for (const name of ['compileStreaming', 'instantiateStreaming']) Reflect.deleteProperty(WebAssembly, name);
  // Python sees that memory has run out, as on any machine, before the host must kill the process.
  const { prototype } = WebAssembly.Memory;
  const grow = prototype.grow;
  prototype.grow = function growToCap(pages) {
    if (this.buffer.byteLength + pages * PAGE_BYTES > wasmBytes) throw new RangeError('out of memory');
    return grow.call(this, pages);
  };
  const random = randomBytes(seed);
  Object.assign(globalThis, {
    ...clock(),
    TextDecoder,
    TextEncoder,
    // The engine's own console writes to the debugger.
    console: Object.fromEntries(Object.keys(console).map((name) => [name, () => {}])),
    crypto: {
      getRandomValues(view: Uint8Array) {
        random(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
        return view;
      },
    },
    read: (name: string) => new TextDecoder('latin1').decode(loadedFile(name)),
    readbuffer: (name: string) => loadedFile(name).buffer,
    load: () => {},
    WorkerGlobalScope: {},
  });
}

/** Removes what only loading needed. */
export function forgetLoading(): void {
  for (const name of LOADING) Reflect.deleteProperty(globalThis, name);
  files.clear();
}

function loadedFile(path: string): Uint8Array<ArrayBuffer> {
  const file = files.get(path.slice(path.lastIndexOf('/') + 1));
  if (!file) throw new Error(`There is no file '${path}' here.`);
  return file;
}

function clock() {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const waiting = new Set<number>();
  let last = 0;

  async function later(timer: number, work: () => void, ms: number): Promise<void> {
    // Never at once, which would leave the process no time for anything else.
    await waitAsync(cell, 0, 0, Math.max(1, ms || 0)).value;
    if (waiting.delete(timer)) work();
  }

  return {
    performance: { now: monotonicNow() },
    setTimeout(work: () => void, ms = 0) {
      last += 1;
      waiting.add(last);
      void later(last, work, Number(ms));
      return last;
    },
    clearTimeout: (timer: number) => void waiting.delete(timer),
  };
}

const STEP = 0.001;

/** The realm's own clock counts milliseconds: here it never goes back, and advances a little within each millisecond. */
function monotonicNow(): () => number {
  let behind = -Date.now();
  let millisecond = 0;
  let latest = 0;
  return function now() {
    const time = Date.now() + behind;
    if (time < millisecond) behind += millisecond - time;
    else millisecond = time;
    latest = Math.max(millisecond, Math.min(latest + STEP, millisecond + 1 - STEP));
    return latest;
  };
}
