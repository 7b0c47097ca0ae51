/** Measures the CPU time of work, which the load of the machine does not lengthen. */

/**
 * The least seconds of CPU of up to three tries; stops at a try that is quicker than `enough`. The time includes that of the
 * garbage collector's threads.
 */
export function leastCpuSeconds(enough: number, run: () => void): number {
  let least = cpuSeconds(run);
  for (let tries = 1; tries < 3 && least >= enough; tries += 1) least = Math.min(least, cpuSeconds(run));
  return least;
}

/** Seconds of CPU that the process spends on it. */
export function cpuSeconds(run: () => void): number {
  const began = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

/** The same for work over several turns of the event loop. */
export async function cpuSecondsOf(run: () => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

/**
 * Asserts that eight times the size takes no more than three times its share of CPU: quadratic time would be 64 times as much.
 * The least of up to three tries counts, since one may pay for collecting the garbage of the tests before it.
 */
export async function expectProportion(size: number, run: (size: number) => Promise<unknown>): Promise<void> {
  const few = await cpuSecondsOf(() => run(size / 8));
  const enough = 24 * Math.max(few, 0.05);
  let least = await cpuSecondsOf(() => run(size));
  for (let tries = 1; tries < 3 && least >= enough; tries += 1) {
    least = Math.min(least, await cpuSecondsOf(() => run(size)));
  }
  expect(least).toBeLessThan(enough);
}
