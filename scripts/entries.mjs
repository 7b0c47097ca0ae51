/** The entries of the package: the ES modules that re-export the CommonJS build by name, and the types that they need. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The modules that `exports` of package.json names, as paths without extension: `index`, `mcp/index`. Throws if an entry has
 * not both formats, each with its types first.
 */
export function entriesOf(exports) {
  return Object.entries(exports).flatMap(([name, conditions]) => {
    if (typeof conditions === 'string') return [];
    const path = /^\.\/dist\/cjs\/(.+)\.js$/.exec(conditions.require?.default)?.[1];
    const expected = JSON.stringify({ import: formatOf('esm', path), require: formatOf('cjs', path) });
    if (!path || JSON.stringify(conditions) !== expected)
      throw new Error(`exports['${name}'] must be ${expected}, not ${JSON.stringify(conditions)}`);
    return [path];
  });
}

function formatOf(folder, path) {
  return { types: `./dist/${folder}/${path}.d.ts`, default: `./dist/${folder}/${path}.js` };
}

/**
 * The ES module of an entry: it has no code of its own, so that a process which imports and requires the package has
 * one implementation, with one default store.
 */
export function esmEntry(entry, names) {
  const up = '../'.repeat(entry.split('/').length);
  const from = `'${up}cjs/${entry}.js'`;
  const list = names.filter((name) => name !== '__esModule').toSorted();
  return { code: `export { ${list.join(', ')} } from ${from};\n`, types: `export * from ${from};\n` };
}

const IMPORTED = /((?:\bfrom|\bimport\()\s*)(['"])(\.[^'"]+)\2/g;

/** Leaves the declarations that the entries reach, and names compiled files in them: older compilers do not take `.ts`. */
export function keepPublicTypes(folder, entries) {
  const reached = new Set();
  const waiting = entries.map((entry) => `${entry}.d.ts`);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    const text = readFileSync(join(folder, path), 'utf8');
    for (const [, , , to] of text.matchAll(IMPORTED)) waiting.push(declarationOf(join(dirname(path), to), folder));
    writeFileSync(
      join(folder, path),
      text.replace(IMPORTED, (_, before, quote, to) => `${before}${quote}${to.replace(/\.ts$/, '.js')}${quote}`),
    );
  }
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (/\.d\.c?ts$/.test(path) && !reached.has(path)) rmSync(join(folder, path));
}

function declarationOf(path, folder) {
  const declaration = path.replace(/\.c(?:js|ts)$/, '.d.cts').replace(/(?<!\.d)\.(?:js|ts)$/, '.d.ts');
  if (!existsSync(join(folder, declaration))) throw new Error(`There are no types of ${path}`);
  return declaration;
}
