/** Documents that people have written. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const MAX_DOCUMENTS = 150;
/** The beginning of each: the model reads two hundred tokens a second. */
const CHARACTERS = 240;

/** A document's name and its beginning. */
export interface RealDocument {
  readonly name: string;
  readonly text: string;
}

/** This package's own pages, then those of the packages that it is made with. */
export function realDocuments(): readonly RealDocument[] {
  const own = ['docs', 'docs/decisions', 'docs/recipes'].flatMap((folder) =>
    readdirSync(join(ROOT, folder))
      .filter((name) => name.endsWith('.md') && name !== 'README.md')
      .map((name) => `${folder}/${name}`),
  );
  const others = readdirSync(join(ROOT, 'node_modules'))
    .map((name) => `node_modules/${name}/README.md`)
    .filter((path) => existsSync(join(ROOT, path)));
  return [...own, ...others].slice(0, MAX_DOCUMENTS).map((path) => ({
    name: path.replaceAll('/', '-'),
    text: readFileSync(join(ROOT, path), 'utf8').slice(0, CHARACTERS),
  }));
}
