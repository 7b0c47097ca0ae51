/** Counts the attacks of one file of the hostile suite and prints what was tried, so that a suite that tried nothing fails. */

/** Call at the top of a test file. `tried` adds attacks that were withstood; the sum is printed when the file has run. */
export function tally(subject: string): { tried(what: string, attempts?: number): void } {
  const counts = new Map<string, number>();

  afterAll(() => {
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const lines = [...counts].map(([what, count]) => `  ${count} × ${what}`);
    process.stdout.write(`hostile ${subject}: ${total} attempts held\n${lines.join('\n')}\n`);
    if (total === 0) throw new Error(`hostile ${subject}: nothing was tried`);
  });
  return {
    tried(what, attempts = 1) {
      counts.set(what, (counts.get(what) ?? 0) + attempts);
    },
  };
}
