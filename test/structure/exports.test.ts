/** Nothing is exported that no other file imports, and what all files need stands once. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { sourceFiles, sourceText } from './source-graph.ts';

const root = join(import.meta.dirname, '../..');

/** What one file exports and imports, each import as `file#name`, or `file#*` for all of it. */
interface Names {
  readonly exported: readonly string[];
  readonly imported: readonly string[];
}

/** `require('…')`, and the type `import('…')`: no imports of a module, as the parser sees them. */
const LOADED = /\b(?:require|import)\(\s*['"](\.[^'"]+)['"]/g;

/** From the record that the parser keeps of imports and exports: its syntax trees of all files are a hundred times as much. */
function namesOf(path: string, text: string): Names {
  const exported: string[] = [];
  const imported: string[] = [];
  const from = (value: string, name: string) => {
    if (value.startsWith('.')) imported.push(`${relative(root, join(root, dirname(path), value))}#${name}`);
  };
  const { module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  for (const { moduleRequest, entries } of module.staticImports)
    for (const { importName } of entries) from(moduleRequest.value, importName.name ?? '*');
  for (const { moduleRequest, importName, localName } of module.staticExports.flatMap(({ entries }) => entries)) {
    if (!moduleRequest) exported.push(localName.name ?? '');
    else if (importName.name) from(moduleRequest.value, importName.name);
  }
  for (const [, loaded = ''] of text.matchAll(LOADED)) from(loaded, '*');
  return { exported, imported };
}

/** Exports that no file of these imports, as `file#name`. */
function unimported(sources: readonly (readonly [path: string, text: string])[], isEntry: (path: string) => boolean) {
  const names = sources.map(([path, text]) => ({ path, ...namesOf(path, text) }));
  const imported = new Set(names.flatMap((each) => each.imported));
  return names
    .filter(({ path }) => path.startsWith('src/') && !isEntry(path))
    .flatMap(({ path, exported }) =>
      exported.filter((name) => !imported.has(`${path}#${name}`)).map((name) => `${path}#${name}`),
    )
    .filter((id) => !imported.has(id.replace(/#.*/, '#*')));
}

function codeBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.[cm]?tsx?$/.test(path) && !/node_modules|(?:dist|build)\/|\.d\.[cm]?ts$/.test(path))
    .map((path) => `${folder}/${path}`);
}

describe('src', () => {
  it('[Q-08] exports nothing that no other file imports, but for its entries', () => {
    const files = ['src', 'test', 'bench', 'scripts'].flatMap(codeBelow);
    const sources = files.map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
    const entries = new Set<string>(Object.values(JSON.parse(readFileSync(join(root, 'entries.json'), 'utf8'))));
    expect([sources.length > 1000, entries.size > 20, unimported(sources, (path) => entries.has(path))]).toEqual([
      true,
      true,
      [],
    ]);
  });

  it('[Q-08] would see an export that nobody imports', () => {
    const sources = [
      ['src/a.ts', 'export interface A {}\nexport const b = 1;\nexport function c() {}'],
      ['src/d.ts', "import type { A } from './a.ts';\nimport { c } from './a.ts';\nexport { c as e };"],
      ['test/f.test.ts', "await import('../src/d.ts');"],
    ] as const;
    expect(unimported(sources, () => false)).toEqual(['src/a.ts#b']);
  });

  it('[Q-08] has one name for an object as JSON has it', () => {
    const copies = sourceFiles.flatMap((file) =>
      [...sourceText(file).matchAll(/^type (\w+) = (?:Readonly<)?Record<string, unknown>>?;/gm)].map(
        ([, name]) => `${file} ${name}`,
      ),
    );
    // The demo model reads JSON schemas, which it calls so.
    expect(copies).toEqual(['testing/demo-model/sample-value.ts Schema']);
  });
});
