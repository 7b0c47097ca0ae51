/** The package as npm packs it: its files, and what a host sees in the stack trace of its mistake, the names of our functions and the lines of our sources. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describeWhere } from '../support/skipping.ts';

const root = join(import.meta.dirname, '../..');
const execute = promisify(execFile);
const TSC = join(root, 'node_modules/typescript/bin/tsc');
/** The mistake: an option that nobody knows, in a function of the host's. */
const MISTAKE = `function createApp() {
  return responsesRouter({ stoer: 'redis' });
}
try {
  createApp();
} catch (error) {
  console.log(error.stack);
}
`;
const COMMON_JS = `const { responsesRouter } = require('express-open-responses');\n${MISTAKE}`;
const ES_MODULE = `import { responsesRouter } from 'express-open-responses';\n${MISTAKE}`;
const TYPESCRIPT = `import { responsesRouter } from 'express-open-responses';
interface Host {
  readonly name: string;
}
${MISTAKE.replace("stoer: 'redis'", "stoer: 'redis' } as object").replace(' });', ');').replace('(error)', '(error: any)')}export const host: Host = { name: 'host' };
`;

/** A host in a folder of its own, where the package is installed as it is published. */
let host: string;
/** The paths of what was packed. */
let packed: readonly string[];
const installed = () => join(host, 'node_modules/express-open-responses');

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

async function install(): Promise<void> {
  host = mkdtempSync(join(tmpdir(), 'host-'));
  mkdirSync(installed(), { recursive: true });
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', host];
  const { stdout } = await execute('npm', pack, { cwd: root, maxBuffer: 10_000_000 });
  const [{ filename, files }]: readonly [Packed] = JSON.parse(stdout);
  packed = files.map(({ path }) => path);
  await execute('tar', ['-xzf', join(host, filename), '-C', installed(), '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const name of [...Object.keys(dependencies), 'express', '@types/node', '@types/express']) {
    const link = join(host, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
}

/** The frames of the mistake's stack trace: the function, the file from the host's folder on, and the text of its line. */
async function framesOf(file: string, ...flags: readonly string[]) {
  const { stdout } = await execute(process.execPath, [...flags, file], { cwd: host });
  return [...stdout.matchAll(/^ +at (?:(?:Object\.)?([\w.$]+) )?\(?(?:file:\/\/)?(\/[^:]+):(\d+):\d+\)?$/gm)].map(
    ([, name, path = '', line]) => ({
      name,
      path: path.slice(host.length + 1),
      text: readFileSync(path, 'utf8').split('\n')[Number(line) - 1]?.trim(),
    }),
  );
}

describeWhere(existsSync(join(root, 'dist/cjs/index.d.ts')), 'there is no dist/cjs/index.d.ts')(
  'a host’s mistake',
  () => {
    beforeAll(install);
    afterAll(() => rmSync(host, { recursive: true, force: true }));

    const router = {
      name: 'responsesRouter',
      path: 'node_modules/express-open-responses/src/hosts/express/responses-router.ts',
      text: expect.stringContaining('routerKit('),
    };
    const call = { name: 'createApp', text: expect.stringContaining('responsesRouter({') };

    it.each([
      ['CommonJS', 'app.cjs', COMMON_JS],
      ['an ES module', 'app.mjs', ES_MODULE],
    ])('[Q-05] has our function and the line of our source in its stack trace, from %s', async (_, file, code) => {
      writeFileSync(join(host, file), code);
      const frames = await framesOf(file, '--enable-source-maps');
      expect(frames).toEqual(expect.arrayContaining([router, { ...call, path: file }]));
    });

    it('[Q-05] has them from TypeScript, which its compiler accepts with our types', async () => {
      writeFileSync(join(host, 'app.mts'), TYPESCRIPT);
      const options = ['--module', 'nodenext', '--target', 'es2022', '--types', 'node', '--strict', '--sourceMap'];
      await execute(process.execPath, [TSC, ...options, 'app.mts'], { cwd: host });
      const frames = await framesOf('app.mjs', '--enable-source-maps');
      expect(frames).toEqual(expect.arrayContaining([router, { ...call, path: 'app.mts' }]));
    });

    it('[Q-05] names our function and a line that reads well where Node does not follow source maps', async () => {
      writeFileSync(join(host, 'plain.cjs'), COMMON_JS);
      const frames = await framesOf('plain.cjs');
      const path = 'node_modules/express-open-responses/dist/cjs/index.js';
      expect(frames).toEqual(
        expect.arrayContaining([
          { ...router, path },
          { ...call, path: 'plain.cjs' },
        ]),
      );
    });

    it('has the build and its sources beside it, its licence, what messages name, and nothing else', () => {
      const others = packed.filter((path) => !/^(src|dist\/(cjs|esm|inspector-ui|sandbox))\//.test(path));
      expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'SECURITY.md', 'docs/errors.md', 'package.json']);
    });

    it('[Q-05] can be looked for in the installed code: functions, their names and their comments are there', () => {
      const code = readFileSync(join(installed(), 'dist/cjs/index.js'), 'utf8');
      const [, comment = ''] = /\/\*\*([^/]*(?:\/(?<!\*\/)[^/]*)*)\*\/\nfunction responsesRouter\(/.exec(code) ?? [];
      expect([comment.length > 100, /\bfunction \w{1,2}\(/.test(code)]).toEqual([true, false]);
    });
  },
);
