/** Bundles compiled ES modules into CommonJS: a file for each entry, and files for what several of them share. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rollup } from '@rollup/wasm-node';

/** Removes the code in the folder, and returns what replaces it; declarations stay. Throws for any warning of the bundler. */
export async function bundle(folder, entries) {
  const bundled = await rollup({
    input: Object.fromEntries(entries.map((entry) => [entry, join(folder, `${entry}.js`)])),
    // Packages, Node's own modules, and the files that depend on their own path.
    external: (id) => id.endsWith('.cjs') || !/^[./]|^[A-Za-z]:/.test(id),
    onwarn(warning) {
      throw new Error(warning.message);
    },
  });
  const { output } = await bundled.generate({
    dir: folder,
    format: 'cjs',
    esModule: true,
    interop: 'auto',
    generatedCode: { preset: 'es2015', symbols: false },
    chunkFileNames: 'shared/[name].js',
    // In Jest's CommonJS `import()` fails.
    dynamicImportInCjs: false,
    hoistTransitiveImports: false,
    // The names by which these files import from each other.
    minifyInternalExports: true,
  });
  await bundled.close();
  removeCode(folder);
  return output;
}

function removeCode(folder) {
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('.js')) rmSync(join(folder, path));
}
