/** The globals of a program: the language's own, with a clock and random numbers that are the same whenever it runs again. */
import { randomBytes } from './random.ts';
import { waitAsync } from './shared-memory-channel.ts';

/** The time that passes in a program. */
export interface ProgramClock {
  /** Resolves when the program has done all that it can do at once. */
  afterMicrotasks(): Promise<void>;
  /** Runs the work of the next timer; returns whether there was one. */
  fireTimer(): boolean;
}

/** What would tell two runs of a program apart, or block it, or lead to what is none of its business. */
const REMOVED = ['Atomics', 'SharedArrayBuffer', 'WebAssembly', 'WeakRef', 'FinalizationRegistry', 'gc'];

/** Must be called before the program is evaluated. */
export function defineProgramGlobals({
  startedAt,
  seed,
}: {
  readonly startedAt: number;
  readonly seed: string;
}): ProgramClock {
  // Node formats every stack with its own function, in any realm, which throws Node's objects: errors have no stacks here.
  Object.defineProperty(Error, 'stackTraceLimit', { get: () => 0, set: () => {}, configurable: false });
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (const name of REMOVED) Reflect.deleteProperty(globalThis, name);
  let time = startedAt;
  // Each look at the clock takes a millisecond, so that a program that waits for a time comes to it.
  const now = () => {
    time += 1;
    return time;
  };
  replaceDate(now);
  const random = randomBytes(Uint8Array.from(seed.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16)));
  Math.random = () => {
    const bytes = new Uint8Array(4);
    random(bytes);
    return new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
  };

  const timers = new Map<number, { readonly at: number; readonly work: () => void }>();
  let lastTimer = 0;
  Object.assign(globalThis, {
    setTimeout(work: (...args: readonly unknown[]) => void, ms = 0, ...args: readonly unknown[]) {
      lastTimer += 1;
      timers.set(lastTimer, { at: time + Math.max(0, Number(ms) || 0), work: () => work(...args) });
      return lastTimer;
    },
    clearTimeout: (timer: number) => void timers.delete(timer),
  });

  return {
    async afterMicrotasks() {
      await waitAsync(cell, 0, 0, 1).value;
    },
    fireTimer() {
      // One after another, by their times: nothing else passes time here.
      let next: number | undefined;
      for (const [timer, { at }] of timers) {
        if (next === undefined || at < (timers.get(next)?.at ?? 0)) next = timer;
      }
      const due = next === undefined ? undefined : timers.get(next);
      if (next === undefined || !due) return false;
      timers.delete(next);
      time = Math.max(time, due.at);
      // An error ends no program: it is nobody's.
      void Promise.resolve().then(due.work);
      return true;
    },
  };
}

function replaceDate(now: () => number): void {
  const NativeDate = Date;
  const ProgramDate = new Proxy(NativeDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new NativeDate(now()).toString(),
  });
  NativeDate.now = now;
  NativeDate.prototype.constructor = ProgramDate;
  globalThis.Date = ProgramDate;
  // Without a date these would tell the time.
  const { prototype } = Intl.DateTimeFormat;
  const parts = prototype.formatToParts;
  prototype.formatToParts = function formatToParts(date = now()) {
    return parts.call(this, date);
  };
  const format = Object.getOwnPropertyDescriptor(prototype, 'format')?.get;
  Object.defineProperty(prototype, 'format', {
    configurable: true,
    get() {
      const whole = format?.call(this);
      return (date: Date | number = now()) => whole(date);
    },
  });
}
