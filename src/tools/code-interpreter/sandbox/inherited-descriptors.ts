/** Finds descriptors that a child would inherit unintentionally: those that this process was started with. */
import { readdir, readFile } from 'node:fs/promises';

const CLOSE_ON_EXEC = 0o2000000;

/** Those above the standard streams, unsorted. Node closes its own, but not those that its parent or an add-on left open. Empty without `/proc`. */
export async function inheritedDescriptors(): Promise<readonly number[]> {
  const open = await readdir('/proc/self/fd').catch(() => []);
  const numbers = open.map(Number).filter((descriptor) => descriptor > 2);
  const inherited = await Promise.all(
    numbers.map(async (descriptor) => {
      const info = await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8').catch(() => undefined);
      // It has been closed in between.
      if (info === undefined) return false;
      const [, flags = ''] = /^flags:\s*(\d+)/m.exec(info) ?? [];
      return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
    }),
  );
  return numbers.filter((_, index) => inherited[index]);
}
