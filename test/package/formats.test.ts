/** The package as it is built: one implementation for `import` and `require`, with maps to its sources. */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { itBuilt } from '../examples/support.ts';

const root = join(import.meta.dirname, '../..');
const execute = promisify(execFile);
const { exports: entries } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const names = Object.keys(entries).filter((name) => name !== './package.json');

/** What a module prints that runs in the project's folder, where the package's name leads to its own build. */
async function printed(code: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const script = `import { createRequire } from 'node:module'; const require = createRequire('${root}/any.js'); ${code}`;
  const args = ['--input-type=module', '-e', script];
  const { stdout } = await execute(process.execPath, args, { cwd: root, env: { ...process.env, ...env } });
  return JSON.parse(stdout);
}

describe('a process that imports and requires the package', () => {
  let fake: FakeUpstream;
  beforeAll(async () => {
    fake = await startFakeUpstream();
  });
  afterAll(() => fake.close());

  itBuilt('dist/esm/index.js')('[Q-05] has the same functions and classes of every entry', async () => {
    const same = await printed(`
      const wrong = [];
      for (const name of ${JSON.stringify(names)}) {
        const path = 'express-open-responses' + name.slice(1);
        const [imported, required] = [await import(path), require(path)];
        const all = new Set([...Object.keys(required), ...Object.keys(imported)]);
        if (all.size === 0) wrong.push(path);
        for (const each of all) if (imported[each] !== required[each]) wrong.push(path + ' ' + each);
      }
      console.log(JSON.stringify(wrong));`);
    expect(same).toEqual([]);
  });

  itBuilt('dist/esm/index.js')('[Q-05] finds with one what it has stored by default with the other', async () => {
    fake.reply({ body: textStream('Hello.') });
    const found = await printed(
      `import express from 'express';
      import { responsesRouter } from 'express-open-responses';
      const app = express()
        .use('/imported', responsesRouter())
        .use('/required', require('express-open-responses').responsesRouter());
      const server = app.listen(0);
      const url = 'http://127.0.0.1:' + server.address().port;
      const asJson = { 'content-type': 'application/json', authorization: 'Bearer k' };
      const made = await fetch(url + '/imported/responses', { method: 'POST', headers: asJson, body: '{"model":"m","input":"Hi"}' });
      const { id } = await made.json();
      const seen = await fetch(url + '/required/responses/' + id, { headers: asJson });
      console.log(JSON.stringify([made.status, seen.status, (await seen.json()).id === id]));
      server.close();
      server.closeAllConnections();`,
      { OPENAI_BASE_URL: fake.baseURL },
    );
    expect(found).toEqual([200, 200, true]);
  });
});

describe('the tarball', () => {
  itBuilt('dist/cjs/index.d.ts')(
    '[Q-05] has a map for each file of code and of types, which leads to a published source',
    () => {
      // An entry that only re-exports has no code, and nothing to lead to.
      const paths = pathsIn(join(root, 'dist/cjs')).filter(
        (path) => path.endsWith('.d.ts') || (path.endsWith('.js') && readFileSync(path, 'utf8').includes('\n// src/')),
      );
      const wrong = paths.filter((path) => {
        const { sources, sourceRoot = '' } = JSON.parse(readFileSync(`${path}.map`, 'utf8'));
        const found = sources.map((source: string) => join(dirname(path), sourceRoot, source));
        return found.some((source: string) => !source.startsWith(join(root, 'src/')) || !existsSync(source));
      });
      const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      expect([paths.length > 500, wrong, files.includes('src')]).toEqual([true, [], true]);
    },
  );

  itBuilt('dist/cjs/hosts/cli/bin.js')('[Q-05] has a program that starts by itself', () => {
    const { bin, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const program = join(root, bin['express-open-responses']);
    expect(execFileSync(program, ['--version'], { encoding: 'utf8' })).toBe(`${version}\n`);
  });

  it('[X-16] has the pages of docs that messages name', () => {
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const sources = pathsIn(join(root, 'src')).map((path) => readFileSync(path, 'utf8'));
    const named = new Set(
      sources.flatMap((text) => text.match(/(?<=express-open-responses\/)docs\/[a-z-]+\.md/g) ?? []),
    );
    expect([named.size > 0, [...named].filter((page) => !files.includes(page))]).toEqual([true, []]);
  });
});

function pathsIn(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  const found = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  return found.filter((name) => statSync(name).isFile());
}
