/** Reads the files of skills, and no other files. */
import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

/** An error that is passed to the model; it names no path of the server. */
export class SkillFault extends Error {
  override readonly name = 'SkillFault';
}

const MAX_DEPTH = 4;
const MAX_NAMES = 200;

/**
 * The text of a file below a folder. Throws a `SkillFault` for one that is outside of it (by its name or by a link), is no
 * regular file or no text, or is larger than so many bytes.
 */
export async function textBelow(folder: string, name: string, maxBytes: number): Promise<string> {
  const text = (await bytesBelow(folder, name, maxBytes)).toString('utf8');
  if (text.includes('\0')) throw new SkillFault('The file is not text.');
  return text;
}

/** The same of any file. */
export async function bytesBelow(folder: string, name: string, maxBytes: number): Promise<Buffer> {
  if (name.includes('\0')) throw missingFileError(name);
  // Links are resolved first, and their target must be below the folder.
  const root = await realpath(folder);
  const path = await realpath(join(root, name)).catch(() => undefined);
  if (path === undefined) throw missingFileError(name);
  const below = relative(root, path);
  if (below === '' || below === '..' || below.startsWith(`..${sep}`) || join(root, below) !== path)
    throw missingFileError(name);
  // Non-blocking: opening a named pipe would otherwise wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch(
    () => undefined,
  );
  if (!file) throw missingFileError(name);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw missingFileError(name);
    const buffer = Buffer.alloc(Math.min(stat.size, maxBytes) + 1);
    // The file may have grown since: one byte beyond the limit is enough to detect it.
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (stat.size > maxBytes || bytesRead > maxBytes) throw new SkillFault(`The file has more than ${maxBytes} bytes.`);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** The same message for a missing file and for one that may not be read, so that it reveals nothing. */
function missingFileError(name: string): SkillFault {
  return new SkillFault(`The skill has no file ${JSON.stringify(name.slice(0, 200))}.`);
}

/** The names of the files below a folder, `/` between the parts; hidden ones and links are left out. */
export async function namesBelow(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  await collectNames(folder, '', names, MAX_DEPTH);
  return names.toSorted();
}

async function collectNames(folder: string, prefix: string, names: string[], depth: number): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (names.length >= MAX_NAMES) return;
    if (entry.name.startsWith('.')) continue;
    if (entry.isFile()) names.push(prefix + entry.name);
    else if (entry.isDirectory() && depth > 1)
      await collectNames(join(folder, entry.name), `${prefix}${entry.name}/`, names, depth - 1);
  }
}
