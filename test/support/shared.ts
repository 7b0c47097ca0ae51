/** Where the recordings and schemas that are not part of the repository are found, when they are present. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../../shared');

/** Whether the recordings are on this machine; CI has them. */
export const hasShared = existsSync(join(root, 'corpus'));

if (!hasShared && process.env.CI === 'true') throw new Error(`CI needs the recordings, and there are none at ${root}`);

/** `describe` if the recordings are present; otherwise a skip whose name says why. */
export const describeShared: (name: string, body: () => void) => void = hasShared
  ? describe
  : // Without the body: an empty table of recordings would be an error.
    (name) =>
      describe.skip(`${name} (skipped: the recordings are not on this machine)`, () => it.skip('is not run', () => {}));

/** The text of one file. */
export function readShared(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** The bytes of one file. */
export function readSharedBytes(path: string): Buffer {
  return readFileSync(join(root, path));
}

/** The names in a folder with this ending; none if the recordings are absent. */
export function listShared(folder: string, ending: string): readonly string[] {
  if (!hasShared) return [];
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .sort();
}
