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
}

/** A file of the folder. */
export interface WorkFile {
  readonly name: string;
  readonly data: Uint8Array;
}

/** The changes of a run: the files, and a line about omitted ones, or nothing. */
interface Changes {
  readonly files: readonly WorkFile[];
  readonly note: string;
}

/** The working directory. */
interface WorkFolder {
  put(file: WorkFile): void;
  /** The changes since the last call. */
  changes(): Changes;
}

/** Reads the folder once, so that only later changes count. */
export function workFolder(fs: MemoryFs, limits: ChildLimits): WorkFolder {
  const marks = new Map<string, string>();

  function changed(name: string): boolean {
    const mark = markOf(fs, name, limits.fileBytes);
    const known = marks.get(name) === mark;
    marks.set(name, mark);
    return !known;
  }

  function read(name: string): WorkFile {
    return { name, data: fs.readFile(`${FOLDER}/${name}`) };
  }

  return {
    put({ name, data }) {
      const path = `${FOLDER}/${name}`;
      fs.mkdirTree(path.slice(0, path.lastIndexOf('/')));
      fs.writeFile(path, data);
      changed(name);
    },
    changes() {
      const names = [...namesIn(fs, '')].filter(changed).toSorted();
      const sizes = names.map((name) => fs.lstat(`${FOLDER}/${name}`).size);
      const kept = names.filter(fitting(sizes, limits));
      return {
        files: kept.map(read),
        note: noteOf(
          names.filter((name) => !kept.includes(name)),
          limits,
        ),
      };
    },
  };
}

/** Takes the files in their order while they fit. */
function fitting(
  sizes: readonly number[],
  { fileBytes, files }: ChildLimits,
): (name: string, index: number) => boolean {
  let room = fileBytes;
  let taken = 0;
  return function fits(_name, index) {
    const size = sizes[index] ?? 0;
    if (size > room || taken === files) return false;
    room -= size;
    taken += 1;
    return true;
  };
}

const NAMED = 5;

function noteOf(left: readonly string[], { fileBytes, files }: ChildLimits): string {
  if (left.length === 0) return '';
  const names = left.slice(0, NAMED).join(', ') + (left.length > NAMED ? `, and ${left.length - NAMED} more` : '');
  return `\n[not given back: ${names}; a run gives back at most ${files} files of ${fileBytes} bytes in all]\n`;
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

/** Identifies a file's content; a file that is too large to be returned is identified by its size alone. */
function markOf(fs: MemoryFs, name: string, fileBytes: number): string {
  const path = `${FOLDER}/${name}`;
  const { size } = fs.lstat(path);
  return size > fileBytes ? `${size}` : `${size}:${hashOf(fs.readFile(path))}`;
}

/** Looked up once: a global of a realm costs a thousand times as much as a constant. */
const { imul } = Math;

/** FNV-1a. */
function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = imul(hash ^ byte, 0x01000193);
  return hash;
}
