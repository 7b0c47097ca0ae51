/** The TypeScript of the documentation as modules that a compiler reads: a page shows parts of an app, which lack imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);
const pages = ['README.md', ...['docs', 'docs/recipes'].flatMap(pagesIn)];

function pagesIn(folder) {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));
  return names.map((name) => `${folder}/${name}`);
}

/** Where each function and class of the package is exported. */
function exportedNames() {
  const { name: own, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const paths = Object.keys(exports).filter((path) => path !== './package.json');
  const specifiers = paths.map((path) => own + path.slice(1)).toReversed();
  return new Map(specifiers.flatMap((from) => Object.keys(require(from)).map((name) => [name, from])));
}

/** What only the tests of clients install: `test/clients/snippets.test.ts` runs the blocks that import them. */
const CLIENTS = /from '(@openai\/agents|@ai-sdk\/openai|ai|@langchain\/openai)'/;

/** Every `ts` and `js` block of README and docs, each as a module with a file name of its own. */
export function snippets() {
  const known = exportedNames();
  return pages.flatMap((page) => {
    const found = readFileSync(join(root, page), 'utf8').matchAll(/^```[tj]s(?: \[[^\]\n]+\])?\n(.*?)^```$/gms);
    const blocks = [...found].map(([, code]) => code).filter((code) => !CLIENTS.test(code));
    const name = page.replace(/\.md$/, '').replaceAll('/', '-');
    return blocks.map((code, index) => ({ file: `${name}-${index + 1}.ts`, code: withImports(code, known) }));
  });
}

function withImports(code, known) {
  const bare = code.replace(/\/\/.*/g, '');
  const uses = (name) => new RegExp(`(?<![.'\\w])${name}\\(`).test(bare);
  const declares = (name) => new RegExp(`\\b(import|const|function|type)\\b[^;=]*\\b${name}\\b`).test(bare);
  const missing = [...known].filter(([name]) => uses(name) && !declares(name));
  const imports = missing.map(([name, from]) => `import { ${name} } from '${from}';\n`);
  return `${imports.join('')}${code}export {};\n`;
}

/** In the first column, or in a loop that begins there. */
const AWAITS_OUTSIDE =
  /^(?:(?:const|let) [^\n]*\bawait |await |(?:for|while) await |while [^\n]*\n {2}[^\n]*\bawait )/m;

/** The same for a CommonJS file, which has no `await` outside of functions. */
export function withoutTopLevelAwait(code) {
  if (!AWAITS_OUTSIDE.test(code)) return code;
  const imports = [...code.matchAll(/^import [^;]*;\n/gm)].map(([text]) => text);
  const rest = imports.reduce((left, text) => left.replace(text, ''), code).replace(/^export \{\};\n/m, '');
  return `${imports.join('')}export async function run() {\n${rest.replace(/^export /gm, '')}}\n`;
}
