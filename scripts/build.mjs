/**
 * Builds the package into `dist`: the implementation in CommonJS (`cjs`), entries that re-export it as ES modules (`esm`), the
 * scripts of the code interpreter's process (`sandbox`), and the inspector's page (`inspector-ui`). Does nothing where `dist` is
 * what these sources make, unless called with `--fresh`.
 */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildRecord } from './built.mjs';
import { bundle } from './bundle.mjs';
import { compact, withoutSpaces } from './compact.mjs';
import { entriesOf, esmEntry } from './entries.mjs';
import { buildInspectorPage } from './inspector-ui.mjs';
import { keepPublicTypes } from './public-types.mjs';
import { typesWithTabs } from './tabs.mjs';

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

/** The paths of all files in the folder whose names end so. */
function filesIn(folder, end) {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => path.endsWith(end)).map((path) => join(folder, path));
}

async function build() {
  rmSync(dist, { recursive: true, force: true });
  await Promise.all([
    // The code has no comments, which would be a fifth of it; the types have them, for editors. It is bundled below.
    compile('-p', 'tsconfig.build.json', '--noCheck'),
    compile('-p', 'tsconfig.build.json', '--declaration', '--emitDeclarationOnly', '--removeComments', 'false'),
    compile('-p', 'tsconfig.sandbox.json'),
    buildInspectorPage(join(root, 'src/inspector/ui'), join(dist, 'inspector-ui')),
  ]);
  write(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n');
  write(join(dist, 'sandbox/package.json'), '{ "type": "module" }\n');
  for (const path of filesIn(join(dist, 'sandbox'), '.js')) write(path, withoutSpaces(readFileSync(path, 'utf8')));
  for (const name of ['express/express', 'ports/host/package-files', 'protocol/json/packages'])
    for (const kind of ['cjs', 'd.cts']) cpSync(join(root, `src/${name}.${kind}`), join(dist, `cjs/${name}.${kind}`));

  const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const programs = Object.values(bin).map((path) => join(root, path));
  const entries = entriesOf(exports);
  // Threads and the program have entries of their own, which nobody imports.
  const bundled = await bundle(join(dist, 'cjs'), [
    ...entries,
    'documents/reading/document-worker',
    'ports/processes/job-process',
    'tokens/tokenizer-worker',
    'web-search/pages/page-worker',
    'cli/bin',
  ]);
  for (const { fileName, code } of bundled) {
    const path = join(dist, 'cjs', fileName);
    write(path, `${programs.includes(path) ? '#!/usr/bin/env node\n' : ''}${compact(code)}`);
  }
  for (const path of programs) chmodSync(path, 0o755);
  for (const entry of entries) {
    const { code, types } = esmEntry(entry, Object.keys(require(join(dist, 'cjs', `${entry}.js`))));
    write(join(dist, 'esm', `${entry}.js`), code);
    write(join(dist, 'esm', `${entry}.d.ts`), types);
  }
  keepPublicTypes(join(dist, 'cjs'), entries);

  for (const file of filesIn(join(dist, 'cjs'), '.d.ts'))
    writeFileSync(file, typesWithTabs(readFileSync(file, 'utf8')));
}

const record = buildRecord(root);
if (process.argv.includes('--fresh') || !record.isCurrent()) {
  await build();
  record.write();
}
