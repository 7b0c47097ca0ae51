/** Compiles every `@example` of docs/api against the sources, so that none uses a missing export. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sources } from './api-entries.mjs';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'build/api-examples');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const pages = readdirSync(join(root, 'docs/api'), { recursive: true }).filter((path) => path.endsWith('.md'));
const texts = pages.map((path) => readFileSync(join(root, 'docs/api', path), 'utf8'));
const examples = new Set(texts.flatMap((text) => [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code)));
[...examples].forEach((code, index) => {
  writeFileSync(join(folder, `example-${index + 1}.mts`), code);
});
const paths = Object.fromEntries([...sources()].map(([name, path]) => [name, [join(root, path)]]));
const config = {
  extends: '../../tsconfig.json',
  compilerOptions: { types: ['node'], paths },
  include: ['*.mts'],
  exclude: [],
};
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));

const { status } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
  stdio: 'inherit',
});
if (status === 0) console.log(`${examples.size} examples compile`);
process.exitCode = examples.size > 0 ? (status ?? 1) : 1;
