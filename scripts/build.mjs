/**
 * Builds the package into `dist`: the implementation in CommonJS (`cjs`) and entries that re-export it as ES modules (`esm`), each with
 * its types unless called with `--code`; the scripts of the code interpreter's process (`sandbox`); the inspector's page
 * (`inspector-ui`). Makes nothing again that was made of the same files, unless called with `--fresh`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'rolldown';
import { buildRecord } from './built.mjs';

const root = join(import.meta.dirname, '..');
const src = join(root, 'src');
const dist = join(root, 'dist');
/** Programs of threads and processes, and the command: entries that nobody imports. */
const PROGRAMS = [
  'src/hosts/cli/bin.ts',
  'src/tools/documents/reading/document-worker.ts',
  'src/ports/processes/job-process.ts',
  'src/engine/tokens/tokenizer-worker.ts',
  'src/tools/web-search/pages/page-worker.ts',
];
const GETTER = /^Object\.defineProperty\(exports, "(\w+)", \{\s+enumerable.*\s+get.*\s+return (.+);\s+\}\s+\}\);$/gm;
const BEYOND_LATIN_1 = /[^\0-\xff]/g;

function write(path, text) {
  mkdirSync(dirname(join(dist, path)), { recursive: true });
  writeFileSync(join(dist, path), text);
}

/** Calls rolldown, for which any warning is an error. */
async function bundle(options) {
  const onwarn = ({ message }) => {
    throw new Error(message);
  };
  return (await build({ ...options, cwd: root, onwarn })).output;
}

async function tsc(project) {
  const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', project];
  const [status] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }), 'close');
  if (status !== 0) throw new Error(`tsc -p ${project} failed`);
}

/**
 * A file for each entry, and files in `shared` for what several of them share. Names and comments stay, and the source maps lead to
 * `src`, which is published. The ES modules of the entries have no code of their own.
 */
async function buildCode() {
  const entries = Object.values(JSON.parse(readFileSync(join(root, 'entries.json'), 'utf8')));
  const output = await bundle({
    input: Object.fromEntries(
      [...entries, ...PROGRAMS].map((path) => [path.slice('src/'.length, -'.ts'.length), path]),
    ),
    // Packages, Node's own modules, and the files that are CommonJS in the sources, too.
    external: (id) => id.endsWith('.cjs') || !/^[./]|^[A-Za-z]:|^src\//.test(id),
    platform: 'node',
    transform: { target: 'node20.19' },
    output: {
      ...{ dir: 'dist/cjs', format: 'cjs', strict: true, esModule: true, chunkFileNames: 'shared/[name].js' },
      banner: ({ name }) => (name === 'hosts/cli/bin' ? '#!/usr/bin/env node' : ''),
      ...{ minifyInternalExports: false, sourcemap: true, sourcemapExcludeSources: true },
      // In Jest's CommonJS `import()` fails.
      dynamicImportInCjs: false,
    },
  });
  for (const { type, fileName, code, name, exports, facadeModuleId } of output) {
    if (type !== 'chunk') continue;
    write(`cjs/${fileName}`, plainCode(code));
    if (!entries.some((entry) => join(root, entry) === facadeModuleId)) continue;
    const from = `'${'../'.repeat(name.split('/').length)}cjs/${name}.js'`;
    write(`esm/${name}.js`, `export { ${exports.toSorted().join(', ')} } from ${from};\n`);
    write(`esm/${name}.d.ts`, `export * from ${from};\n`);
  }
  for (const path of readdirSync(src, { recursive: true }).filter((each) => /\.(?:cjs|d\.cts)$/.test(each)))
    cpSync(join(src, path), join(dist, 'cjs', path));
  chmodSync(join(dist, 'cjs/hosts/cli/bin.js'), 0o755);
}

/**
 * Writes exports as TypeScript does, since none of ours changes: a getter for each is a tenth of the import. With a character
 * beyond Latin-1 in it, Node holds a file with two bytes for each character.
 */
function plainCode(code) {
  return code
    .replace(GETTER, 'exports.$1 = $2;')
    .replace(BEYOND_LATIN_1, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Compilers before TypeScript 5.7 do not know that `./a.ts` in a declaration means `./a.d.ts`. */
async function buildTypes() {
  await tsc('tsconfig.build.json');
  for (const path of readdirSync(join(dist, 'cjs'), { recursive: true }).filter((each) => each.endsWith('.d.ts'))) {
    const text = readFileSync(join(dist, 'cjs', path), 'utf8');
    write(`cjs/${path}`, text.replace(/((?:from |import\()["']\.[^"']+)\.ts(["'])/g, '$1.js$2'));
  }
}

/** One script, one stylesheet, the document and its icon, compressed. */
async function buildInspectorPage() {
  const [{ code }] = await bundle({
    input: 'src/observe/inspector/ui/main.tsx',
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    output: { format: 'es', minify: true, comments: false },
    write: false,
  });
  const pack = (name, content) => write(`inspector-ui/${name}.gz`, gzipSync(content, { level: 9 }));
  pack('app.js', code);
  for (const name of ['app.css', 'index.html', 'icon.svg'])
    pack(name, readFileSync(join(src, 'observe/inspector/ui', name), 'utf8').replace(/\n\s*/g, '\n'));
}

const record = buildRecord(root);
if (process.argv.includes('--fresh') || !record.isCurrent()) {
  rmSync(dist, { recursive: true, force: true });
  await Promise.all([buildCode(), tsc('tsconfig.sandbox.json'), buildInspectorPage()]);
  write('cjs/package.json', '{ "type": "commonjs" }\n');
  write('sandbox/package.json', '{ "type": "module" }\n');
  record.write();
}
if (!process.argv.includes('--code') && !existsSync(join(dist, 'cjs/index.d.ts'))) await buildTypes();
