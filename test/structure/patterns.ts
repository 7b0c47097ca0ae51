/** Every regular expression of `src`, read out of its syntax trees. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseSync } from '@swc/core';

/** A pattern as it is written, and a file that it stands in. */
export interface Pattern {
  readonly source: string;
  readonly flags: string;
  readonly file: string;
}

/** What a test must know of the patterns. */
export interface Patterns {
  readonly literals: readonly Pattern[];
  /** The files that make a pattern out of text. */
  readonly constructed: readonly string[];
}

const ROOT = join(import.meta.dirname, '../..');

/** Reads all of `src`. */
export function patternsOfSource(): Patterns {
  const literals: Pattern[] = [];
  const constructed = new Set<string>();
  for (const file of sourceFiles()) {
    const tree = parseSync(readFileSync(join(ROOT, file), 'utf8'), { syntax: 'typescript' });
    visit(tree, (node) => {
      if (node.type === 'RegExpLiteral')
        literals.push({ source: String(node.pattern), flags: String(node.flags), file });
      if (makesPattern(node)) constructed.add(file);
    });
  }
  return { literals, constructed: [...constructed].sort() };
}

/** A pattern as a line of the list. */
export function lineOf({ source, flags }: Pattern): string {
  return `/${source}/${flags}`;
}

function sourceFiles(): readonly string[] {
  const all = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

type Node = Readonly<Record<string, unknown>>;

function visit(value: unknown, look: (node: Node) => void): void {
  if (typeof value !== 'object' || value === null) return;
  // The cast: an object of a syntax tree has any fields.
  const node = value as Node;
  look(node);
  for (const child of Object.values(node)) visit(child, look);
}

/** `RegExp(…)` and `new RegExp(…)`; methods of strings make a pattern of a text, too. */
function makesPattern({ type, callee, arguments: args }: Node): boolean {
  if (type !== 'NewExpression' && type !== 'CallExpression') return false;
  // The casts: as above.
  const { value, property } = callee as { readonly value?: unknown; readonly property?: { readonly value?: unknown } };
  if (value === 'RegExp') return true;
  const [first] = (args ?? []) as readonly { readonly expression?: Node }[];
  const isText = first?.expression?.type === 'StringLiteral' || first?.expression?.type === 'TemplateLiteral';
  return isText && (property?.value === 'match' || property?.value === 'matchAll' || property?.value === 'search');
}
