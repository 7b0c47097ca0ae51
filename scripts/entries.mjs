/** The entries of the package: the ES modules that re-export the CommonJS build by name. */

/**
 * The modules that `exports` of package.json names, as paths without extension: `index`, `mcp/index`. Throws if an entry
 * lacks one of the two formats, or if its types are not first.
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
