/** Folders for files on a disk, and how much is in them. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of its own, and its end. */
export function diskFolder(): { readonly folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'disk-files-'));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The lengths of all files below it. */
export function bytesBelow(folder: string): number {
  return filesBelow(folder).reduce((sum, path) => sum + statSync(path).size, 0);
}

/** The paths of all files below it. */
export function filesBelow(folder: string): readonly string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
}
