/**
 * Writes what follows from entries.json, where each entry of the package is declared with its source: `exports` and `typesVersions`
 * of package.json, and `paths` of tsconfig.json. With `--check` it changes nothing, and fails if one of them differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (name) => readFileSync(join(import.meta.dirname, '..', name), 'utf8');
const entries = Object.entries(JSON.parse(read('entries.json')));
const { name, ...manifest } = JSON.parse(read('package.json'));

/** The files of an entry in one format, its types first: a compiler takes the first condition that it knows. */
const filesIn = (path) => ({ types: `${path}.d.ts`, default: `${path}.js` });
const conditions = entries.map(([entry, source]) => {
  const path = source.slice('src/'.length, -'.ts'.length);
  return [entry, { import: filesIn(`./dist/esm/${path}`), require: filesIn(`./dist/cjs/${path}`) }];
});
/** For compilers that do not read `exports`. */
const types = conditions.slice(1).map(([entry, { require }]) => [entry.slice('./'.length), [require.types]]);
const derived = {
  exports: { ...Object.fromEntries(conditions), './package.json': './package.json' },
  typesVersions: { '*': Object.fromEntries(types) },
};
const paths = entries.map(([entry, source]) => `      "${name}${entry.slice(1)}": ["./${source}"]`);
const files = {
  'package.json': `${JSON.stringify({ name, ...manifest, ...derived }, null, 2)}\n`,
  'tsconfig.json': read('tsconfig.json').replace(/"paths": \{[^}]*\}/, `"paths": {\n${paths.join(',\n')}\n    }`),
};

for (const [file, text] of Object.entries(files)) {
  if (text === read(file)) continue;
  if (!process.argv.includes('--check')) writeFileSync(join(import.meta.dirname, '..', file), text);
  else {
    console.error(`${file} does not follow from entries.json: node scripts/entries.mjs`);
    process.exitCode = 1;
  }
}
