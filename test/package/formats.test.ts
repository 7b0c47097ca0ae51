/** The package as it is built: one implementation for `import` and `require`, and no more files than that takes. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compact } from '../../scripts/compact.mjs';
import { entriesOf, esmEntry } from '../../scripts/entries.mjs';
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

describe('the entries', () => {
  it('[Q-05] are each there in both formats, with the types of each', () => {
    expect(entriesOf(entries)).toHaveLength(names.length);
  });

  it.each([
    ['one format alone', { default: './dist/cjs/a.js' }],
    ['no types', { import: { default: './dist/esm/a.js' }, require: { default: './dist/cjs/a.js' } }],
    ['another file for each', { ...entries['./mcp'], import: entries['./otel'].import }],
  ])('[Q-05] are refused with %s', (_, conditions) => {
    expect(() => entriesOf({ './a': conditions })).toThrow("exports['./a'] must be");
  });

  it('[Q-05] re-export by name, in one order', () => {
    const { code, types } = esmEntry('stores/redis/redis-store', ['b', '__esModule', 'a']);
    const from = '../../../cjs/stores/redis/redis-store.js';
    expect([code, types]).toEqual([`export { a, b } from '${from}';\n`, `export * from '${from}';\n`]);
  });

  it('[Q-05] lead to their types where a compiler does not read "exports"', () => {
    const { typesVersions, types } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const expected = names.slice(1).map((name) => [name.slice(2), [entries[name].require.types]]);
    expect([types, typesVersions]).toEqual([entries['.'].require.types, { '*': Object.fromEntries(expected) }]);
  });
});

describe('the code', () => {
  it('[Q-05] is printed small: a line for each statement of a long block, texts and the names of classes and methods unchanged', () => {
    const page = 'class Page { static #count = 0; get é() { return [`\n    a ${this.b}\n`]; } }\n';
    const texts = ['1', '2'].map((letter) => letter.repeat(80));
    const kind = `function kind(name) { if (name) { kind(2); name(); } ${texts.map((text) => `name('${text}');`).join(' ')} }\n`;
    expect(compact(page + kind).split('\n')).toEqual([
      'let Page=class Page{static #t=0;get é(){return[`',
      '    a ${this.b}',
      '`]}};',
      'function t(a){',
      'if(a){t(2);a()}',
      `a("${texts[0]}");`,
      `a("${texts[1]}")}`,
      '',
    ]);
  });
});

describe('the tarball', () => {
  itBuilt('dist/esm/index.js')('[Q-05] takes less than 1.5 MB unpacked, and has no source maps', () => {
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const published: readonly string[] = files.filter((name: string) => !name.startsWith('!'));
    const paths = ['package.json', ...published].flatMap((name) => pathsIn(join(root, name)));
    const bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0);
    const maps = paths.filter((path) => path.endsWith('.map'));
    expect([bytes < 1_500_000, bytes > 500_000, maps]).toEqual([true, true, []]);
  });

  itBuilt('dist/cjs/cli/bin.js')('[Q-05] has a program that starts by itself', () => {
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
