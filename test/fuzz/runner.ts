/** Runs cases of a target, each within a time that its size allows, and shrinks the first that breaks a law. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { type Faults, watchFaults } from './faults.ts';
import type { AnyTarget } from './target.ts';
import type { World } from './world.ts';

/** No answer takes longer, whatever else the machine does. */
const HANGS_AFTER_MS = 20_000;
/** Processor time that a case may take: this, and so much for each KiB of its input; the laws are checked within it. */
const CPU_MS = 400;
const CPU_MS_PER_KIB = 12;

/** A case that broke a law, as small as it could be made. */
export interface Failure {
  readonly target: string;
  readonly seed: number;
  readonly input: unknown;
  readonly error: string;
}

/** What a run of a target came to. */
export interface Outcome {
  readonly cases: number;
  readonly failure: Failure | undefined;
}

/** Runs so many cases. */
export async function fuzz(target: AnyTarget, world: World, cases: number, seed: number): Promise<Outcome> {
  const faults = watchFaults();
  const property = fc.asyncProperty(target.inputs, (input) => runCase(target, input, world, faults));
  const { failed, counterexample, numRuns, errorInstance } = await fc.check(property, { numRuns: cases, seed });
  faults.stop();
  if (!failed) return { cases: numRuns, failure: undefined };
  const error = errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance);
  return { cases: numRuns, failure: { target: target.name, seed, input: counterexample?.[0], error } };
}

/** Runs one case that was kept. */
export async function replay(target: AnyTarget, world: World, input: unknown): Promise<void> {
  const faults = watchFaults();
  await runCase(target, input, world, faults).finally(faults.stop);
}

async function runCase(target: AnyTarget, input: unknown, world: World, faults: Faults): Promise<void> {
  faults.take();
  const allowed = CPU_MS + (CPU_MS_PER_KIB * JSON.stringify(input).length) / 1024;
  for (let tries = 1; ; tries += 1) {
    const spent = await timed(() => inTime(target.run(input, world)));
    if (spent <= allowed) break;
    // The collection of others' garbage is in it, too.
    if (tries === 3)
      throw new Error(`It takes ${Math.round(spent)} ms of processor time, and may take ${Math.round(allowed)}.`);
  }
  // What is rejected without a handler is reported after the microtasks.
  await nextTurn();
  const [fault] = faults.take();
  if (fault !== undefined) throw new Error(fault);
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

async function inTime(running: unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`There is no answer within ${HANGS_AFTER_MS} ms.`)), HANGS_AFTER_MS);
  });
  await Promise.race([running, late]).finally(() => clearTimeout(timer));
}
