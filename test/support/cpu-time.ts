/** How long something takes, whatever else the machine does. */

/** Seconds of CPU that the process spends on it. */
export function cpuSeconds(run: () => void): number {
  const began = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}
