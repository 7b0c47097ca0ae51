/** Puts each example, as a reader would copy it, beside the installed frameworks with the built package, and builds it. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const here = import.meta.dirname;
const root = join(here, '../..');
const installed = join(here, 'node_modules');
const apps = join(here, 'build');
/** The folders that are copied, and those of `examples/` that they are copied from. */
const sources = {
  express5: 'express4',
  ...Object.fromEntries(
    ['express4', 'fastify', 'nestjs', 'nextjs', 'hono', 'koa-adapter', 'deno', 'bun'].map((name) => [name, name]),
  ),
};

const isSource = (path) => !['node_modules', 'dist', '.next', 'build'].includes(basename(path));

function putPackageInto(folder) {
  const at = join(folder, 'express-open-responses');
  rmSync(at, { recursive: true, force: true });
  for (const part of ['package.json', 'dist']) cpSync(join(root, part), join(at, part), { recursive: true });
}

/** Express 4, for the folder alone: under the name that the example and the package import. */
function putExpress4Into(folder) {
  for (const [name, alias] of [
    ['express', 'express4'],
    ['@types/express', 'types-express4'],
  ]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    symlinkSync(join(installed, alias), join(folder, name), 'dir');
  }
  putPackageInto(folder);
}

/** What is compiled or bundled before it runs; Deno and Bun run TypeScript. */
function build(app) {
  const cwd = join(apps, app);
  const run = (path, args) =>
    execFileSync(process.execPath, [join(installed, path), ...args], { cwd, stdio: 'inherit' });
  if (app === 'nextjs') run('next/dist/bin/next', ['build']);
  else if (app !== 'deno' && app !== 'bun') run('typescript/bin/tsc', []);
}

rmSync(apps, { recursive: true, force: true });
putPackageInto(installed);
for (const [app, source] of Object.entries(sources)) {
  cpSync(join(root, 'examples', source), join(apps, app), { recursive: true, filter: isSource });
}
putExpress4Into(join(apps, 'express4/node_modules'));
for (const app of Object.keys(sources)) build(app);
