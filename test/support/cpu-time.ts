/** How long something takes, whatever else the machine does. */

/**
 * The least seconds of CPU of up to three tries, no more of them than it takes to be quicker than `enough`: the time
 * holds that of the garbage collector's threads too.
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

/** The same of what takes several turns of the event loop. */
export async function cpuSecondsOf(run: () => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

/** Eight times the size takes no more than thrice its share of CPU: quadratic time would be 64 times as much. */
export async function expectProportion(size: number, run: (size: number) => Promise<unknown>): Promise<void> {
  const few = await cpuSecondsOf(() => run(size / 8));
  expect(await cpuSecondsOf(() => run(size))).toBeLessThan(24 * Math.max(few, 0.05));
}
