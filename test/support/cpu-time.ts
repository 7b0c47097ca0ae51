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
