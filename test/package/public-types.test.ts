/** Which declarations the package publishes. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { keepPublicTypes } from '../../scripts/public-types.mjs';

type Files = Readonly<Record<string, string>>;

/** What is left of the files, by their names. */
function publicTypes(files: Files, entries: readonly string[]): Files {
  const folder = mkdtempSync(join(tmpdir(), 'types-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    keepPublicTypes(folder, entries);
    const left = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.d.ts'));
    return Object.fromEntries(left.toSorted().map((path) => [path, readFileSync(join(folder, path), 'utf8')]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the published types', () => {
  it('[Q-05] are those that an entry reaches, with their comments', () => {
    const files = {
      'index.d.ts': "/** The entry. */\nexport type { A as First } from './deep/a.ts';\n",
      'deep/a.d.ts':
        "/** A file. */\nimport type { B, C } from './b.ts';\n/** Über A. */\nexport interface A extends B {\n    /** One. */\n    one: Inner;\n}\ntype Inner = 1;\nexport type Unused = C;\n",
      'deep/b.d.ts': 'export interface B {\n}\nexport interface C {\n}\n',
      'deep/c.d.ts': 'export type D = 1;\n',
    };
    expect(publicTypes(files, ['index'])).toEqual({
      'deep/a.d.ts':
        "import type { B } from './b.js';\n/** Über A. */\nexport interface A extends B {\n    /** One. */\n    one: Inner;\n}\ntype Inner = 1;\n",
      'deep/b.d.ts': 'export interface B {\n}\n',
      'index.d.ts': "export { type A as First } from './deep/a.js';\n",
    });
  });

  it('[Q-05] have every overload, and what comes from other packages', () => {
    const text =
      "import whole from 'one';\nimport * as all from 'two';\nimport { some } from 'three';\nexport declare function f(a: some): whole;\nexport declare function f(b: typeof all): void;\n";
    expect(publicTypes({ 'index.d.ts': text }, ['index'])).toEqual({
      'index.d.ts': text.replace('import { some }', 'import type { some }'),
    });
  });

  it('[Q-05] cannot lack what is named', () => {
    const files = { 'index.d.ts': "export type { A } from './a.ts';\n", 'a.d.ts': 'export type B = 1;\n' };
    expect(() => publicTypes(files, ['index'])).toThrow('a.d.ts exports no A');
  });
});
