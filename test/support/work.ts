/** Counts the work of a run, so that a law of growth needs no clock: the same run counts the same on every machine. */
import { Session } from 'node:inspector';
import { GCProfiler, getHeapStatistics } from 'node:v8';

/** What a run did. No count depends on how fast the machine is or on what else it does. */
export interface Work {
  /** How often V8 ran a block of the package's code or of a library's: a turn of a loop, a call, a branch. */
  readonly steps: number;
  /** Characters, bytes and elements that went through JavaScript's own functions, which have no blocks: `includes`, `JSON.parse`, a spread. */
  readonly passed: number;
  /** Bytes allocated on the heap, whether or not they are still there: copies of strings, arrays and objects. */
  readonly allocated: number;
}

/** The work of a run, and of whatever else this process does meanwhile. */
export async function workOf(run: () => unknown): Promise<Work> {
  const work = countWork();
  try {
    await run();
  } finally {
    work.stop();
  }
  return work.done();
}

/** Counts from now until `stop`; one at a time. */
export function countWork(): { stop(): void; done(): Work } {
  const passes = countPasses();
  const allocations = countAllocations();
  stepsSinceLast();
  let work: Work = { steps: 0, passed: 0, allocated: 0 };
  return {
    stop() {
      passes.stop();
      const steps = stepsSinceLast();
      work = { steps, passed: passes.count(), allocated: allocations.stop() };
    },
    done: () => work,
  };
}

/** What the heap grew by, and what its collections freed meanwhile. */
function countAllocations(): { stop(): number } {
  const collections = new GCProfiler();
  collections.start();
  const before = getHeapStatistics().used_heap_size;
  return {
    stop() {
      const grown = getHeapStatistics().used_heap_size - before;
      return collections
        .stop()
        .statistics.map(
          ({ beforeGC, afterGC }) => beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize,
        )
        .reduce((sum, freed) => sum + freed, grown);
    },
  };
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

const ROOT = new URL('../../', import.meta.url).href;
/** The package's own code and what it imports, but neither the test nor jest. */
const COUNTED = /^(src|node_modules)\/(?!@?jest|@jridgewell|expect\/|pretty-format|chalk)/;

const session = new Session();
session.connect();
post('Profiler.enable');
// Counts only functions that are compiled from now on: the modules of a test file are new in each, and functions are compiled when first called.
post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** Ends all counting in this process: code runs faster without it. */
export function endCounting(): void {
  session.disconnect();
}

/** Runs of blocks since the last call: V8 sets its counters back to nought. */
function stepsSinceLast(): number {
  const { result } = post('Profiler.takePreciseCoverage') as { result: readonly ScriptCoverage[] };
  let steps = 0;
  for (const { url, functions } of result) {
    if (!url.startsWith(ROOT) || !COUNTED.test(url.slice(ROOT.length))) continue;
    for (const { ranges } of functions) for (const { count } of ranges) steps += count;
  }
  return steps;
}

/** Commands to the inspector of one's own thread are answered before `post` returns. */
function post(command: string, params: object = {}): unknown {
  let answer: unknown;
  session.post(command, params, (error, result) => {
    if (error) throw error;
    answer = result;
  });
  return answer;
}

/** What one call of a function passed over, from what it was called on, its arguments and its result. */
type Passed = (self: never, args: never, result: never) => number;

interface Sized {
  readonly length: number;
}

interface Viewed {
  readonly byteLength: number;
}

const sizeOfSelf: Passed = ({ length }: Sized) => length;
const sizeOfResult: Passed = (_self, _args, result: Sized | undefined) => result?.length ?? 0;
const untilIndex: Passed = ({ length }: Sized, [, from = 0]: readonly [unknown, number?], index: number) =>
  index === -1 ? Math.max(0, length - from) : Math.max(1, index - from);
const untilElement: Passed = (self: readonly unknown[], [element]: readonly [unknown], found: boolean) =>
  found ? self.indexOf(element) + 1 : self.length;
/** A search for a text may compare all of it at each place. */
const untilText: Passed = ({ length }: Sized, [text, from = 0]: readonly [string, number?], index: number) =>
  Math.max(1, (index === -1 ? length : index) - from) * Math.max(1, text.length);
const hasText: Passed = (self: string, [text]: readonly [string], found: boolean) =>
  Math.max(1, found ? self.indexOf(text) : self.length) * Math.max(1, text.length);
const one: Passed = () => 1;
const untilMatch: Passed = (
  { sticky, global, lastIndex }: RegExp,
  [text]: readonly [string],
  match: RegExpExecArray | null,
) => {
  const end = match ? match.index + match[0].length : String(text).length;
  return sticky && !match ? 1 : Math.max(1, end - (match && (global || sticky) ? lastIndex - match[0].length : 0));
};

/** JavaScript's own functions whose cost is the length of something, by the object that has them. */
const NATIVE: readonly (readonly [object, Readonly<Record<string, Passed>>])[] = [
  [JSON, { parse: (_self, [text]: readonly [string]) => String(text).length, stringify: sizeOfResult }],
  [
    String.prototype,
    {
      indexOf: untilText,
      includes: hasText,
      split: sizeOfSelf,
      replaceAll: sizeOfSelf,
      trim: sizeOfSelf,
      trimStart: sizeOfSelf,
      trimEnd: sizeOfSelf,
      toLowerCase: sizeOfSelf,
      toUpperCase: sizeOfSelf,
      normalize: sizeOfSelf,
      isWellFormed: sizeOfSelf,
      toWellFormed: sizeOfSelf,
      repeat: sizeOfResult,
    },
  ],
  [
    Array.prototype,
    {
      indexOf: untilIndex,
      includes: untilElement,
      concat: sizeOfResult,
      slice: sizeOfResult,
      splice: sizeOfSelf,
      unshift: sizeOfSelf,
      reverse: sizeOfSelf,
      fill: sizeOfSelf,
      flat: sizeOfResult,
      join: sizeOfResult,
    },
  ],
  [RegExp.prototype, { exec: untilMatch }],
  [Object.getPrototypeOf([][Symbol.iterator]()), { next: one }],
  [Object.getPrototypeOf(new Map()[Symbol.iterator]()), { next: one }],
  [Object.getPrototypeOf(new Set()[Symbol.iterator]()), { next: one }],
  [Object, { keys: sizeOfResult, values: sizeOfResult, entries: sizeOfResult }],
  [Buffer, { concat: sizeOfResult, from: sizeOfResult, byteLength: (_self, [text]: readonly [Sized]) => text.length }],
  [Buffer.prototype, { toString: sizeOfResult, indexOf: untilIndex, equals: sizeOfSelf }],
  [TextDecoder.prototype, { decode: (_self, [bytes]: readonly [Viewed?]) => bytes?.byteLength ?? 0 }],
  [TextEncoder.prototype, { encode: sizeOfResult }],
];

/** Puts a counting function in the place of each until `stop`. An object spread cannot be counted so: it shows in what is allocated. */
function countPasses(): { stop(): void; count(): number } {
  let passed = 0;
  const restorers = NATIVE.flatMap(([owner, functions]) =>
    Object.entries(functions).flatMap(([name, size]) => {
      const property = Object.getOwnPropertyDescriptor(owner, name);
      // Node 20 has no `isWellFormed` in some contexts.
      if (!property) return [];
      const { value: native } = property;
      const counting = function (this: never, ...args: never[]) {
        const result = Reflect.apply(native, this, args);
        passed += size(this, args as never, result as never);
        return result;
      };
      Object.defineProperty(owner, name, { ...property, value: counting });
      return [() => Object.defineProperty(owner, name, property)];
    }),
  );
  return {
    stop: () => {
      for (const restore of restorers) restore();
    },
    count: () => passed,
  };
}
