/** Descriptors that a process started from here would get although nobody means to give them: those that this one was started with. */
import { readdir, readFile } from 'node:fs/promises';

const CLOSE_ON_EXEC = 0o2000000;

/** Above the standard streams, in no order. Node closes its own, but not what its parent or an add-on has left open. Empty where there is no `/proc`. */
export async function inheritedDescriptors(): Promise<readonly number[]> {
  const open = await readdir('/proc/self/fd').catch(() => []);
  const numbers = open.map(Number).filter((descriptor) => descriptor > 2);
  const inherited = await Promise.all(numbers.map(isInherited));
  return numbers.filter((_, index) => inherited[index]);
}

async function isInherited(descriptor: number): Promise<boolean> {
  try {
    const [, flags = ''] = /^flags:\s*(\d+)/m.exec(await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // It has been closed in between.
    return false;
  }
}
