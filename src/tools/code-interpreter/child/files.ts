/** The working directory of the code: its input files, and the files that a run has written or changed. */
import type { ChildLimits } from '../shared/child-limits.ts';

/** The code's working directory: models have learnt to write here. */
export const FOLDER = '/mnt/data';

/** The part of Emscripten's file system, which is in memory, that we use. */
export interface MemoryFs {
  readdir(path: string): readonly string[];
  lstat(path: string): { readonly mode: number; readonly size: number };
  isDir(mode: number): boolean;
  isFile(mode: number): boolean;
  readFile(path: string): Uint8Array;
  writeFile(path: string, data: Uint8Array): void;
  mkdirTree(path: string): void;
  unlink(path: string): void;
}

/** A file of the folder. */
export interface WorkFile {
  readonly name: string;
  readonly data: Uint8Array;
}

/** The changes of a run: the files, the names of those that are gone, and a line about omitted ones, or nothing. */
interface Changes {
  readonly files: readonly WorkFile[];
  readonly removed: readonly string[];
  readonly note: string;
}

/** The working directory. */
interface WorkFolder {
  put(file: WorkFile): void;
  /** Removes a file; one that is gone already is no error. */
  remove(name: string): void;
  /** The changes since the last call. */
  changes(): Changes;
}

/** Looked up once: a global of a realm costs a thousand times as much as a constant. */
const { imul } = Math;

/** How many omitted files a note names. */
const MAX_NAMED = 5;

/** Reads the folder once, so that only later changes count. */
export function workFolder(fs: MemoryFs, limits: ChildLimits): WorkFolder {
  const marks = new Map<string, string>();

  /** Marks a file's content; a file that is too large to be returned is marked by its size alone. */
  function hasChanged(name: string): boolean {
    const path = `${FOLDER}/${name}`;
    const { size } = fs.lstat(path);
    let mark = `${size}`;
    if (size <= limits.fileBytes) {
      // FNV-1a.
      let hash = 0x811c9dc5;
      for (const byte of fs.readFile(path)) hash = imul(hash ^ byte, 0x01000193);
      mark = `${size}:${hash}`;
    }
    const isSame = marks.get(name) === mark;
    marks.set(name, mark);
    return !isSame;
  }

  return {
    put({ name, data }) {
      const path = `${FOLDER}/${name}`;
      fs.mkdirTree(path.slice(0, path.lastIndexOf('/')));
      fs.writeFile(path, data);
      hasChanged(name);
    },
    remove(name) {
      if (!marks.delete(name)) return;
      try {
        fs.unlink(`${FOLDER}/${name}`);
      } catch {
        // The code has removed it, or has put something else in its place.
      }
    },
    changes() {
      const { fileBytes, files: maxFiles } = limits;
      const present = [...namesIn(fs, '')];
      const there = new Set(present);
      const removed = [...marks.keys()].filter((name) => !there.has(name));
      for (const name of removed) marks.delete(name);
      const files: WorkFile[] = [];
      const omitted: string[] = [];
      let bytesLeft = fileBytes;
      // In their order, while they fit.
      for (const name of present.filter(hasChanged).toSorted()) {
        const { size } = fs.lstat(`${FOLDER}/${name}`);
        if (size > bytesLeft || files.length === maxFiles) {
          omitted.push(name);
          continue;
        }
        bytesLeft -= size;
        files.push({ name, data: fs.readFile(`${FOLDER}/${name}`) });
      }
      if (omitted.length === 0) return { files, removed, note: '' };
      const more = omitted.length > MAX_NAMED ? `, and ${omitted.length - MAX_NAMED} more` : '';
      const names = omitted.slice(0, MAX_NAMED).join(', ') + more;
      const limit = `a run gives back at most ${maxFiles} files of ${fileBytes} bytes in all`;
      return { files, removed, note: `\n[not given back: ${names}; ${limit}]\n` };
    },
  };
}

/** Regular files only: a link could form a loop. */
function* namesIn(fs: MemoryFs, folder: string): Generator<string> {
  for (const entry of fs.readdir(`${FOLDER}/${folder}`)) {
    if (entry === '.' || entry === '..') continue;
    const { mode } = fs.lstat(`${FOLDER}/${folder}${entry}`);
    if (fs.isDir(mode)) yield* namesIn(fs, `${folder}${entry}/`);
    if (fs.isFile(mode)) yield folder + entry;
  }
}
