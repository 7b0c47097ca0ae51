/** Builds the inspector's page: one script, one stylesheet and the document, in a folder of their own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rollup } from '@rollup/wasm-node';
import { minifySync, transformSync } from '@swc/core';

const require = createRequire(import.meta.url);

/** Writes the page's files, compressed; `source` is the folder of its code, `target` that of the files. */
export async function buildInspectorPage(source, target) {
  const bundled = await rollup({
    input: join(source, 'main.tsx'),
    plugins: [preact, typescript],
    onwarn(warning) {
      throw new Error(warning.message);
    },
  });
  const { output } = await bundled.generate({ format: 'es' });
  await bundled.close();
  mkdirSync(target, { recursive: true });
  const { code } = minifySync(output[0].code, {
    module: true,
    compress: true,
    mangle: true,
    format: { asciiOnly: true },
  });
  const write = (name, content) => writeFileSync(join(target, `${name}.gz`), gzipSync(content, { level: 9 }));
  write('app.js', code);
  write('app.css', smallCss(readFileSync(join(source, 'app.css'), 'utf8')));
  for (const name of ['index.html', 'icon.svg']) write(name, readFileSync(join(source, name)));
}

/** The package's own modules, by the names under which it exports them. */
const preact = {
  name: 'preact',
  resolveId(id) {
    if (id !== 'preact' && !id.startsWith('preact/')) return null;
    const root = dirname(require.resolve('preact/package.json'));
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    return join(root, exports[`.${id.slice('preact'.length)}`].default);
  },
};

const typescript = {
  name: 'typescript',
  transform(code, id) {
    if (!id.endsWith('.tsx')) return null;
    const react = { runtime: 'automatic', importSource: 'preact' };
    const jsc = { parser: { syntax: 'typescript', tsx: true }, target: 'es2022', transform: { react } };
    return { code: transformSync(code, { filename: id, jsc, isModule: true }).code, map: null };
  },
};

/** Removes insignificant spaces; those around operators of `calc` and selectors stay. */
function smallCss(text) {
  return text
    .replace(/\n\s*/g, '\n')
    .replace(/\s*([{};,])\s*/g, '$1')
    .replace(/: /g, ':')
    .replace(/;}/g, '}');
}
