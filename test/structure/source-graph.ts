/** Which file of src imports which: the graph that the rules on structure are checked on, types included. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '../../src');

/** Every source file, relative to src. */
export const sourceFiles: readonly string[] = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) =>
  /\.c?[jt]s$/.test(path),
);

/** The text of one of them. */
export function sourceText(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** One import: the names taken, and a package's name or a file relative to src. */
export interface Import {
  readonly from: string;
  readonly to: string;
  readonly names: string;
  readonly isOurs: boolean;
}

const STATEMENT =
  /(?:^|\n)(?:import|export)\b([^;'"]*?)\bfrom\s*['"]([^'"]+)['"]|\b(?:import|require)\s*\(?\s*['"]([^'"]+)['"]/g;

const found = new Map<string, readonly Import[]>();

/** Everything that the file imports, by whichever form of import. */
export function importsOf(file: string): readonly Import[] {
  const imports = found.get(file) ?? readImports(file);
  found.set(file, imports);
  return imports;
}

function readImports(file: string): readonly Import[] {
  const code = sourceText(file).replace(/^\s*(\/\*\*?|\*|\/\/).*$/gm, '');
  return [...code.matchAll(STATEMENT)].map(([, names = '', from, bare = '']) => {
    const path = from ?? bare;
    const isOurs = path.startsWith('.');
    const to = isOurs ? relative(root, join(root, dirname(file), path)) : path;
    return { from: file, to, names: names.replace(/\s+/g, ' ').trim(), isOurs };
  });
}

/** All imports of ours. */
export const ownImports: readonly Import[] = sourceFiles.flatMap(importsOf).filter(({ isOurs }) => isOurs);

/** Groups of nodes that reach one another (Tarjan), each of more than one node. */
export function circlesIn(edges: ReadonlyMap<string, ReadonlySet<string>>): readonly (readonly string[])[] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  function visit(node: string): number {
    const number = order.size;
    order.set(node, number);
    low.set(node, number);
    stack.push(node);
    for (const next of edges.get(node) ?? []) {
      const reached = order.has(next) ? (stack.includes(next) ? (order.get(next) ?? 0) : number) : visit(next);
      low.set(node, Math.min(low.get(node) ?? number, reached));
    }
    const lowest = low.get(node) ?? number;
    if (lowest === number) circles.push(stack.splice(stack.indexOf(node)));
    return lowest;
  }

  for (const node of edges.keys()) if (!order.has(node)) visit(node);
  return circles.filter(({ length }) => length > 1);
}

/** The imports as a graph of `nameOf` each file: itself, or its folder. */
export function graphOf(imports: readonly Import[], nameOf: (file: string) => string): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const targets = edges.get(nameOf(from)) ?? new Set();
    edges.set(nameOf(from), targets);
    if (nameOf(from) !== nameOf(to)) targets.add(nameOf(to));
  }
  return edges;
}
