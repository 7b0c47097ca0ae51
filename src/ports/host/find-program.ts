/** Finds a program as a shell would. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** The first executable, by its path or on this PATH; relative folders of the PATH are ignored, because anybody could own them. */
export function findProgram(name: string, path = process.env.PATH ?? ''): string | undefined {
  if (isAbsolute(name)) return isExecutable(name) ? name : undefined;
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    // A folder may be entered, and is no program.
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
