/** Gives the realm the few globals that Pyodide needs, and removes those that lead into Node: the rest is the realm's own. */
import type { ChildLimits } from '../shared/child-limits.ts';
import { waitAsync } from './door.ts';
import { randomBytes } from './random.ts';
import { TextDecoder, TextEncoder } from './text-coding.ts';

/** From the first two Pyodide detects a shell without Node, and from the third a browser's worker, whose random numbers it uses. */
const LOADING = ['read', 'load', 'readbuffer', 'WorkerGlobalScope'];

const files = new Map<string, Uint8Array<ArrayBuffer>>();

/** The process puts Pyodide's files here, which are read while it loads. */
export function roomFor(name: string, bytes: number): Uint8Array {
  const room = new Uint8Array(bytes);
  files.set(name, room);
  return room;
}

/** Must be called before Pyodide's modules are evaluated, because they detect their environment at once. `seed` has `SEED_BYTES`. */
export function defineGlobals({ wasmBytes }: ChildLimits, seed: Uint8Array): void {
  closeStacks();
  closeStreaming();
  capMemory(wasmBytes);
  const random = randomBytes(seed);
  Object.assign(globalThis, {
    ...clock(),
    TextDecoder,
    TextEncoder,
    console: mutedConsole(),
    crypto: { getRandomValues: (view: Uint8Array) => filled(view, random) },
    read: (name: string) => new TextDecoder('latin1').decode(fileOf(name)),
    readbuffer: (name: string) => fileOf(name).buffer,
    load: () => {},
    WorkerGlobalScope: {},
  });
}

/** Removes what only loading needed. */
export function forgetLoading(): void {
  for (const name of LOADING) Reflect.deleteProperty(globalThis, name);
  files.clear();
}

function fileOf(path: string): Uint8Array<ArrayBuffer> {
  const file = files.get(path.slice(path.lastIndexOf('/') + 1));
  if (!file) throw new Error(`There is no file '${path}' here.`);
  return file;
}

/**
 * Node formats every stack with its own function, in any realm, which throws Node's objects: errors have no stacks here.
 * Pyodide sets the limit, so it must look settable; the engine treats an accessor as no limit at all.
 */
function closeStacks(): void {
  Object.defineProperty(Error, 'stackTraceLimit', { get: () => 0, set: () => {}, configurable: false });
}

/** Node answers these two with errors of its own. */
function closeStreaming(): void {
  for (const name of ['compileStreaming', 'instantiateStreaming']) Reflect.deleteProperty(webAssembly(), name);
}

/** The engine's own console writes to the debugger. */
function mutedConsole(): object {
  return Object.fromEntries(Object.keys(console).map((name) => [name, () => {}]));
}

const PAGE_BYTES = 65_536;

/** The part of WebAssembly that we use, which is not among the language's types. */
interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

function webAssembly(): { readonly Memory: { readonly prototype: Memory } } {
  // The cast: every realm has WebAssembly.
  return (globalThis as unknown as { WebAssembly: { Memory: { prototype: Memory } } }).WebAssembly;
}

/** Python sees that memory has run out, as on any machine, before the host must kill the process. */
function capMemory(wasmBytes: number): void {
  const { prototype } = webAssembly().Memory;
  const grow = prototype.grow;
  prototype.grow = function growToCap(pages) {
    if (this.buffer.byteLength + pages * PAGE_BYTES > wasmBytes) throw new RangeError('out of memory');
    return grow.call(this, pages);
  };
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
    performance: { now: steadyNow() },
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
function steadyNow(): () => number {
  let behind = -Date.now();
  let whole = 0;
  let warnings = 0;
  return function now() {
    const time = Date.now() + behind;
    if (time < whole) behind += whole - time;
    else whole = time;
    warnings = Math.max(whole, Math.min(warnings + STEP, whole + 1 - STEP));
    return warnings;
  };
}

function filled(view: Uint8Array, random: (bytes: Uint8Array) => void): Uint8Array {
  random(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return view;
}
