/** Whether `dist` is what the sources make: a build takes a quarter of a minute, and most commands begin with one. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const INPUTS = [
  'src',
  'scripts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.inspector-ui.json',
  'tsconfig.sandbox.json',
];

/** Remembers in `build/` what `dist` was made of, and when. */
export function buildRecord(root) {
  const file = join(root, 'build/dist.sha256');
  const now = () => `${digest(root, INPUTS, contentOf)} ${digest(root, ['dist'], stateOf)}`;
  return {
    isCurrent: () => attempt(() => readFileSync(file, 'utf8')) === now(),
    write() {
      mkdirSync(join(root, 'build'), { recursive: true });
      writeFileSync(file, now());
    },
  };
}

function digest(root, paths, describe) {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((each) => filesIn(root, each)))
    hash.update(`${path}\0${describe(join(root, path))}\0`);
  return hash.digest('hex');
}

function filesIn(root, path) {
  const found = attempt(() => statSync(join(root, path)));
  if (!found?.isDirectory()) return found ? [path] : [];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesIn(root, join(path, name)));
}

function contentOf(path) {
  return readFileSync(path, 'base64');
}

/** Recognises a file that was written again, too. */
function stateOf(path) {
  const { size, mtimeMs, mode } = statSync(path);
  return `${size} ${mtimeMs} ${mode}`;
}

function attempt(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}
