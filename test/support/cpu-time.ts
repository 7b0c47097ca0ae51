/** Measures time, for `*.clock.test.ts` alone: what only a clock can tell, such as how a regular expression or another's parser reads hostile text. */

/** Seconds of CPU that the process spends on it. */
export async function cpuSeconds(run: () => unknown): Promise<number> {
  const began = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}

/**
 * Asserts that eight times the size takes no more than three times its share of CPU: quadratic time would be 64 times as much.
 * The least of up to three measurements counts, since one may pay for collecting the garbage of those before it.
 */
export async function expectProportion(size: number, run: (size: number) => unknown): Promise<void> {
  const few = await cpuSeconds(() => run(size / 8));
  const enough = 24 * Math.max(few, 0.05);
  let least = await cpuSeconds(() => run(size));
  for (let measured = 1; measured < 3 && least >= enough; measured += 1)
    least = Math.min(least, await cpuSeconds(() => run(size)));
  expect(least).toBeLessThan(enough);
}
