/** Whether `dist` is what the sources make: most commands begin with a build. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const INPUTS = /^(?:entries|package(?:-lock)?|tsconfig.*)\.json$|^(?:src|scripts)\b/;

/** Remembers in `dist` itself, which each build first removes, what it was made of. */
export function buildRecord(/** @type {string} */ root) {
  const file = join(root, 'dist/.sources');
  return {
    isCurrent: () => existsSync(file) && readFileSync(file, 'utf8') === sourcesDigest(root),
    write: () => writeFileSync(file, sourcesDigest(root)),
  };
}

function sourcesDigest(root) {
  const hash = createHash('sha256');
  const names = readdirSync(root).filter((name) => INPUTS.test(name));
  for (const path of names.flatMap((name) => filesIn(root, name)).sort())
    hash.update(`${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest('hex');
}

function filesIn(root, name) {
  if (!statSync(join(root, name)).isDirectory()) return [name];
  return readdirSync(join(root, name)).flatMap((each) => filesIn(root, join(name, each)));
}
