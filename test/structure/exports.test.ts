/** Nothing is exported that no other file imports, and what all files need stands once. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from '@swc/core';
import { sourceFiles, sourceText } from './source-graph.ts';

const root = join(import.meta.dirname, '../..');

type Node = Readonly<Record<string, unknown>>;

/** What one file exports and imports, each import as `file#name`, or `file#*` for all of it. */
interface Names {
  readonly exported: readonly string[];
  readonly imported: readonly string[];
}

function namesOf(path: string, text: string): Names {
  const exported: string[] = [];
  const imported: string[] = [];
  const from = (source: unknown, name: unknown) => {
    const { value } = source as { readonly value: string };
    if (value.startsWith('.')) imported.push(`${relative(root, join(root, dirname(path), value))}#${name}`);
  };
  for (const node of nodesOf(parseSync(text, { syntax: 'typescript', tsx: path.endsWith('x') }).body)) {
    if (node.type === 'ImportDeclaration') for (const name of importedNames(node)) from(node.source, name);
    if (node.type === 'ExportNamedDeclaration')
      for (const name of listedNames(node)) node.source ? from(node.source, name) : exported.push(name);
    if (node.type === 'ExportDeclaration') exported.push(...declaredNames(node.declaration as Node));
    const loaded = loadedPath(node);
    if (loaded) from(loaded, '*');
  }
  return { exported, imported };
}

function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  // The cast: an object of a syntax tree has any fields.
  if (!Array.isArray(value)) yield value as Node;
  for (const child of Object.values(value)) yield* nodesOf(child);
}

function importedNames({ specifiers }: Node): readonly string[] {
  return (specifiers as readonly Node[]).map(({ type, imported, local }) =>
    type === 'ImportNamespaceSpecifier' ? '*' : ((imported ?? local) as { readonly value: string }).value,
  );
}

function listedNames({ specifiers }: Node): readonly string[] {
  return (specifiers as readonly Node[]).flatMap(({ orig }) => (orig as { readonly value?: string })?.value ?? []);
}

function declaredNames({ type, declarations, identifier, id }: Node): readonly string[] {
  // The names of a pattern are read where they are bound; no two files bind the same ones from a package.
  if (type === 'VariableDeclaration')
    return (declarations as readonly { readonly id: { readonly value?: string } }[]).flatMap(({ id: { value } }) =>
      value === undefined ? [] : [value],
    );
  return [((identifier ?? id) as { readonly value: string }).value];
}

/** The path of `import('…')`, `require('…')`, and of the type `import('…')`. */
function loadedPath({ type, callee, arguments: args, argument }: Node): unknown {
  if (type === 'TsImportType') return argument;
  const { type: by, value } = (callee ?? {}) as { readonly type?: string; readonly value?: string };
  if (type !== 'CallExpression' || (by !== 'Import' && value !== 'require')) return undefined;
  const [first] = args as readonly { readonly expression: Node }[];
  return first?.expression.type === 'StringLiteral' ? first.expression : undefined;
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
