/** entries.json declares each entry of the package, everything else that names them follows from it, and each loads what it uses. */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { itBuilt } from '../examples/support.ts';
import { importsOf } from '../structure/source-graph.ts';

const root = join(import.meta.dirname, '../..');

/** What `scripts/entries.mjs` in this folder prints, and how it ends. */
function check(folder: string): Promise<readonly [status: number | string | null | undefined, errors: string]> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(folder, 'scripts/entries.mjs'), '--check'], (error, _, errors) =>
      resolve([error?.code ?? 0, errors]),
    );
  });
}

describe('entries.json', () => {
  it('[Q-05] has as entries what package.json exports, and tsconfig.json finds', async () => {
    expect(await check(root)).toEqual([0, '']);
  });

  it('[Q-05] is missed by the check where an entry is declared there alone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'entries-'));
    mkdirSync(join(folder, 'scripts'));
    for (const path of ['package.json', 'tsconfig.json', 'scripts/entries.mjs'])
      copyFileSync(join(root, path), join(folder, path));
    writeFileSync(join(folder, 'entries.json'), '{ ".": "src/index.ts", "./other": "src/other/index.ts" }');
    const [status, errors] = await check(folder);
    rmSync(folder, { recursive: true });
    expect([status, errors.match(/^\S+(?= does not follow from entries\.json)/gm)]).toEqual([
      1,
      ['package.json', 'tsconfig.json'],
    ]);
  });
});

interface Loaded {
  /** Files of the package with code of their own, as sources. */
  readonly sources: readonly string[];
  readonly packages: readonly string[];
  readonly bytes: number;
}

/** What `require` of each entry loads, each as in a fresh process. */
const LOADS = `
  const { readFileSync, existsSync } = require('node:fs');
  const { dirname, relative, resolve } = require('node:path');
  const entries = Object.keys(JSON.parse(readFileSync('entries.json', 'utf8')));
  const loads = {};
  for (const entry of entries) {
    for (const path of Object.keys(require.cache)) delete require.cache[path];
    require('express-open-responses' + entry.slice(1));
    const paths = Object.keys(require.cache);
    const own = paths.filter((path) => path.startsWith(resolve('dist')));
    const sourcesOf = (path) => JSON.parse(readFileSync(path + '.map', 'utf8')).sources.map((to) => relative('src', resolve(dirname(path), to)));
    const name = (path) => /.*node_modules.((?:@[^/]+.)?[^/]+)/.exec(path)?.[1];
    loads[entry] = {
      sources: own.filter((path) => existsSync(path + '.map')).flatMap(sourcesOf),
      packages: [...new Set(paths.flatMap((path) => name(path) ?? []))],
      bytes: own.reduce((sum, path) => sum + readFileSync(path).length, 0),
    };
  }
  console.log(JSON.stringify(loads));
`;

/** All files of `src` that importing this one runs. */
function reached(source: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(source) || source.endsWith('.cjs')) return found;
  found.add(source);
  for (const { to, names, isOurs } of importsOf(source)) if (isOurs && !/^type\b/.test(names)) reached(to, found);
  return found;
}

describe('an entry that is loaded', () => {
  let loads: Readonly<Record<string, Loaded>>;
  beforeAll(async () => {
    if (!existsSync(join(root, 'dist/cjs/index.js'))) return;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', LOADS], { cwd: root, maxBuffer: 10_000_000 });
    loads = JSON.parse(stdout);
  });

  itBuilt('dist/cjs/index.js')('[Q-04] loads the files that it imports, and no others', () => {
    const entries: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(root, 'entries.json'), 'utf8'));
    const wrong = Object.entries(entries).flatMap(([entry, source]) => {
      const files = reached(source.slice('src/'.length));
      return (loads[entry]?.sources ?? ['nothing'])
        .filter((file) => !files.has(file))
        .map((file) => `${entry} ${file}`);
    });
    expect(wrong).toEqual([]);
  });

  itBuilt('dist/cjs/index.js')(
    '[Q-04] loads no engine of turns for files and vector stores, and half the bytes of the main entry at most',
    () => {
      const about = ['./files', './vector-stores', '.'].map((entry) => {
        const { sources = [], bytes = 0 } = loads[entry] ?? {};
        const engine = sources.filter((file) =>
          /^(?:engine\/turn|upstreams|apis\/(?:background|responses|messages|chat-completions))\//.test(file),
        );
        return [sources.length > 50, engine.length > 0, bytes / Number(loads['.']?.bytes) < 0.5];
      });
      expect(about).toEqual([
        [true, false, true],
        [true, false, true],
        [true, true, false],
      ]);
    },
  );

  itBuilt('dist/cjs/index.js')(
    '[Q-04] loads neither express nor undici, nor zod but for the MCP client, which needs it',
    () => {
      const heavy = Object.entries(loads).flatMap(([entry, { packages }]) =>
        packages.filter((name) => ['express', 'undici', 'zod'].includes(name)).map((name) => `${entry} ${name}`),
      );
      expect(heavy).toEqual(['./mcp zod']);
    },
  );
});
