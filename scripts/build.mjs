/**
 * Builds the package into `dist`: the implementation in CommonJS (`cjs`), entries that re-export it as ES modules (`esm`), and
 * the scripts of the code interpreter's process (`sandbox`).
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from './bundle.mjs';
import { entriesOf, esmEntry } from './entries.mjs';
import { keepPublicTypes } from './public-types.mjs';
import { codeWithTabs, typesWithTabs } from './tabs.mjs';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const require = createRequire(import.meta.url);
const run = promisify(execFile);

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

async function compile(...args) {
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
  try {
    await run(process.execPath, [tsc, ...args], { cwd: root });
  } catch (error) {
    throw new Error(`tsc ${args.join(' ')}\n${error.stdout}${error.stderr}`);
  }
}

rmSync(dist, { recursive: true, force: true });
await Promise.all([
  // The code has no comments, which would be a fifth of it; the types have them, for editors. It is bundled below.
  compile('-p', 'tsconfig.build.json', '--noCheck'),
  compile('-p', 'tsconfig.build.json', '--declaration', '--emitDeclarationOnly', '--removeComments', 'false'),
  compile('-p', 'tsconfig.sandbox.json'),
]);
write(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n');
write(join(dist, 'sandbox/package.json'), '{ "type": "module" }\n');
for (const name of ['package-files.cjs', 'package-files.d.cts'])
  cpSync(join(root, 'src/ports/host', name), join(dist, 'cjs/ports/host', name));

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = entriesOf(exports);
// Threads have entries of their own, which nobody imports.
const bundled = await bundle(join(dist, 'cjs'), [
  ...entries,
  'tokens/tokenizer-worker',
  'web-search/pages/page-worker',
]);
for (const { fileName, code } of bundled) write(join(dist, 'cjs', fileName), code);
for (const entry of entries) {
  const { code, types } = esmEntry(entry, Object.keys(require(join(dist, 'cjs', `${entry}.js`))));
  write(join(dist, 'esm', `${entry}.js`), code);
  write(join(dist, 'esm', `${entry}.d.ts`), types);
}
keepPublicTypes(join(dist, 'cjs'), entries);

for (const path of readdirSync(join(dist, 'cjs'), { recursive: true, encoding: 'utf8' })) {
  const inTabs = path.endsWith('.d.ts') ? typesWithTabs : path.endsWith('.js') && codeWithTabs;
  const file = join(dist, 'cjs', path);
  if (inTabs) writeFileSync(file, inTabs(readFileSync(file, 'utf8')));
}
