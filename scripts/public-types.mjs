/** Selects the types that the package publishes: the declarations that its entries reach. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from '@swc/core';

/**
 * Keeps only the declarations in the folder that the entries reach, with imports of compiled files: older compilers do not
 * accept `.ts`. Throws for an unknown form of import or export.
 */
export function keepPublicTypes(folder, entries) {
  const types = new TypeFiles(folder);
  for (const entry of entries) types.reachAll(`${entry}.d.ts`);
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!/\.d\.c?ts$/.test(path)) continue;
    const text = types.reachedText(path);
    if (text === '') rmSync(join(folder, path));
    else writeFileSync(join(folder, path), text);
  }
}

/** Each file as its parts: a declaration, or one name of an import or an export. */
class TypeFiles {
  files = new Map();

  constructor(folder) {
    this.folder = folder;
  }

  reachAll(path) {
    for (const part of this.open(path).exported.values()) this.use(path, part);
  }

  reachExport(path, name) {
    const part = this.open(path).exported.get(name);
    if (!part) throw new Error(`${path} exports no ${name}`);
    this.use(path, part);
  }

  /** Marks the part and all parts that it names as reached. */
  use(path, part) {
    if (part.isReached) return;
    part.isReached = true;
    if (part.from) this.reachExport(part.from, part.name);
    const { local } = this.open(path);
    for (const name of part.uses) for (const other of local.get(name) ?? []) this.use(path, other);
  }

  open(path) {
    if (!this.files.has(path)) this.files.set(path, readTypes(this.folder, path));
    return this.files.get(path);
  }

  reachedText(path) {
    const statements = this.files.get(path)?.statements ?? [];
    return statements.map(({ parts, write }) => write(parts.filter(({ isReached }) => isReached))).join('');
  }
}

/** A file's statements, and their parts by the names that they have in it and outside of it. */
function readTypes(folder, path) {
  const file = { statements: [], local: new Map(), exported: new Map() };
  for (const { node, text } of statementsOf(readFileSync(join(folder, path), 'utf8'))) {
    const from = node.source?.value.startsWith('.')
      ? declarationOf(join(dirname(path), node.source.value), folder)
      : undefined;
    const statement = (READERS[node.type] ?? readDeclaration)(node, text, from);
    file.statements.push(statement);
    for (const part of statement.parts) {
      if (part.local) file.local.set(part.local, [...(file.local.get(part.local) ?? []), part]);
      if (part.exported) file.exported.set(part.exported, part);
    }
  }
  return file;
}

const READERS = {
  ImportDeclaration({ specifiers, source }, _, from) {
    const parts = specifiers.map(({ type, local: { value: local }, imported }) => {
      if (type !== 'ImportSpecifier' && from) throw new Error(`Only names can be imported from ${source.value}`);
      return { local, from, name: imported?.value ?? local, uses: [], isNamed: type === 'ImportSpecifier', type };
    });
    return { parts, write: (reached) => imports(reached, source.value) };
  },
  ExportNamedDeclaration({ specifiers, source, typeOnly }, _, from) {
    const parts = specifiers.map(({ orig: { value: name }, exported, isTypeOnly }) => {
      return {
        exported: exported?.value ?? name,
        from,
        name,
        uses: source ? [] : [name],
        isType: typeOnly || isTypeOnly,
      };
    });
    return { parts, write: (reached) => reExports(reached, source?.value) };
  },
  ExportDeclaration({ declaration }, text) {
    const statement = readDeclaration(declaration, text);
    return { ...statement, parts: statement.parts.map((part) => ({ ...part, exported: part.local })) };
  },
};

/** Overloads and merged declarations have one name. */
function readDeclaration(node, text) {
  const id = node.id ?? node.identifier ?? (node.declarations?.length === 1 ? node.declarations[0].id : undefined);
  if (id?.type !== 'Identifier') throw new Error(`An unknown form of declaration: ${text}`);
  return {
    parts: [{ local: id.value, uses: namesIn(node) }],
    write: (reached) => (reached.length === 0 ? '' : `${text}\n`),
  };
}

function imports(reached, source) {
  const named = reached.filter(({ isNamed }) => isNamed).map(({ name, local }) => renamed(name, local));
  const whole = reached.filter(({ isNamed }) => !isNamed);
  return [
    ...whole.map(
      ({ type, local }) => `import ${type === 'ImportNamespaceSpecifier' ? '* as ' : ''}${local} from '${source}';\n`,
    ),
    ...(named.length === 0 ? [] : [`import type { ${named.join(', ')} } from '${compiled(source)}';\n`]),
  ].join('');
}

function reExports(reached, source) {
  if (reached.length === 0) return '';
  const names = reached.map(({ name, exported, isType }) => `${isType ? 'type ' : ''}${renamed(name, exported)}`);
  return `export { ${names.join(', ')} }${source ? ` from '${compiled(source)}'` : ''};\n`;
}

function renamed(name, as) {
  return name === as ? name : `${name} as ${as}`;
}

function compiled(source) {
  return source.startsWith('.') ? source.replace(/\.ts$/, '.js') : source;
}

function declarationOf(path, folder) {
  const declaration = path.replace(/\.c(?:js|ts)$/, '.d.cts').replace(/(?<!\.d)\.(?:js|ts)$/, '.d.ts');
  if (!existsSync(join(folder, declaration))) throw new Error(`There are no types of ${path}`);
  return declaration;
}

/** Positions in the tree begin with the first statement, not with a comment above it. */
const FIRST = 'export {};';

/** The statements, each with the comments above it; `export {}` is left out. */
function statementsOf(text) {
  const bytes = Buffer.from(`${FIRST}${text}`);
  const [first, ...nodes] = parseSync(bytes.toString(), { syntax: 'typescript', dts: true }).body;
  let end = FIRST.length;
  return nodes.map((node) => {
    const begin = end;
    end = node.span.end - first.span.start;
    return { node, text: bytes.subarray(begin, end).toString().trim() };
  });
}

/** All identifiers, including those that name no type. */
function namesIn(node) {
  const names = new Set();
  JSON.stringify(node, (_, value) => {
    if (value?.type === 'Identifier') names.add(value.value);
    if (value?.type === 'TsImportType') throw new Error('Inline type imports (import(…)) are not supported');
    return value;
  });
  return names;
}
