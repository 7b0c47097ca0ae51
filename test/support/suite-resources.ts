/** What the tests of one `describe` share, such as a server and its clients: opened before them, and closed after them whatever went wrong. */

/** Adds what is closed after the tests; what was added last is closed first. */
type CloseLater = (close: () => unknown) => void;

/** Registers both hooks. `open` adds how to close each resource as soon as it is open. */
export function openPerSuite(
  open: (closeLater: CloseLater) => Promise<void>,
  hooks: Pick<typeof globalThis, 'beforeAll' | 'afterAll'> = { beforeAll, afterAll },
): void {
  const closings: (() => unknown)[] = [];
  let opening: Promise<void> | undefined;
  hooks.beforeAll(() => {
    opening = open((close) => closings.unshift(close));
    return opening;
  });
  hooks.afterAll(async () => {
    // A hook whose time is over goes on, and what it opens late would keep the worker of jest running.
    await opening?.catch(() => {});
    const failures: unknown[] = [];
    for (const close of closings) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  });
}
