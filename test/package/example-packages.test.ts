/** Each example's own package.json has what its files import, in the versions that the tests run. */
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const manifestOf = (folder: string): Manifest => JSON.parse(read(join(folder, 'package.json')));
const project = manifestOf('');
const tested = {
  ...project.dependencies,
  ...project.devDependencies,
  [project.name]: `^${project.version}`,
};

/** The packages that the files of the folder import, or resolve. */
function importsIn(folder: string): readonly string[] {
  const files = readdirSync(join(root, folder)).filter((name) => /\.(ts|mjs)$/.test(name));
  const specifiers = files.flatMap((name) => [
    ...read(join(folder, name)).matchAll(/(?:\bfrom |\bimport\(|\bimport\.meta\.resolve\()'([^'.][^']*)'/g),
  ]);
  const names = specifiers.map(([, name = '']) => name).filter((name) => !isBuiltin(name));
  return [...new Set(names.map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')))];
}

describe.each(['express', 'koa-adapter', 'hono', 'cluster'])('examples/%s', (name) => {
  const folder = `examples/${name}`;
  const { dependencies, devDependencies } = manifestOf(folder);

  it('[Q-05] depends on what it imports', () => {
    expect(importsIn(folder).filter((imported) => !(imported in dependencies))).toEqual([]);
  });

  it('[Q-05] depends on the versions that the tests run', () => {
    const all = { ...dependencies, ...devDependencies };
    const expected = Object.fromEntries(Object.keys(all).map((dependency) => [dependency, tested[dependency]]));
    expect(all).toEqual(expected);
  });

  it('[Q-05] is started in the repository by the script that its README names', () => {
    const [, script = ''] = read(`${folder}/README.md`).match(/^npm ci && npm (?:run )?(\S+)$/m) ?? [];
    expect(project.scripts[script]).toMatch(new RegExp(`node build/${folder}/server\\.js$`));
  });
});

/** What `npm run test:frameworks` installs; Express 4 stands there under other names. */
const frameworks = Object.fromEntries(
  Object.entries(manifestOf('test/frameworks').devDependencies).map(([name, version]) => [
    name,
    `^${version.split('@').at(-1)?.replace(/^\^/, '')}`,
  ]),
);
const express4: Readonly<Record<string, string | undefined>> = {
  express: frameworks.express4,
  '@types/express': frameworks['types-express4'],
};

describe.each(['express4', 'fastify', 'nestjs', 'nextjs', 'deno', 'bun'])('examples/%s', (name) => {
  const folder = `examples/${name}`;
  const { dependencies, devDependencies = {} } = manifestOf(folder);

  it('[X-03] depends on what it imports', () => {
    expect(importsIn(folder).filter((imported) => !(imported in { ...dependencies, ...devDependencies }))).toEqual([]);
  });

  it('[X-03] depends on the versions that the tests run', () => {
    // Bun strips types without its own declarations.
    const { '@types/bun': _types, ...all } = { ...dependencies, ...devDependencies };
    const known: Readonly<Record<string, string | undefined>> = {
      ...frameworks,
      ...(name === 'express4' ? express4 : {}),
      [project.name]: `^${project.version}`,
    };
    const expected = Object.fromEntries(Object.keys(all).map((dependency) => [dependency, known[dependency]]));
    expect(all).toEqual(expected);
  });
});
