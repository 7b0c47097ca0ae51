/** Finds a process and all that descend from it. */
import { readdirSync, readFileSync } from 'node:fs';

/** The ids, that of the process first; at most `most` of them. Empty if it is gone, and on other systems than Linux the process alone. */
export function processFamily(pid: number | undefined, most: number): readonly number[] {
  if (pid === undefined) return [];
  const family = [pid];
  for (let at = 0; at < family.length && family.length < most; at += 1) {
    const tasks = `/proc/${family[at]}/task`;
    try {
      for (const task of readdirSync(tasks)) {
        const children = readFileSync(`${tasks}/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
        family.push(...children);
      }
    } catch {
      // It has ended in between.
    }
  }
  return family.slice(0, most);
}
