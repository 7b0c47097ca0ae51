/** Reads the tables of docs/compatibility.md. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One line of a table. */
export interface CompatibilityRow {
  /** The text of the first cell. */
  readonly name: string;
  /** The words of the cells before the note, cell by cell. */
  readonly claims: readonly (readonly string[])[];
}

/** The words that the page explains. */
const WORDS: ReadonlySet<string> = new Set([
  ...['honoured', 'passed on', 'echoed', 'noted', 'refused', 'offered', 'run here'],
  ...['kept', 'sent', 'produced', 'never', '–', 'always there', 'never there'],
]);

const page = readFileSync(join(import.meta.dirname, '../../docs/compatibility.md'), 'utf8');

/** The lines of the table under the heading. Throws for a missing table, a line of another form and a word that the page does not explain. */
export function compatibilityRows(heading: string): readonly CompatibilityRow[] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const [, rule, ...lines] = section.split('\n').filter((line) => line.startsWith('|'));
  if (!rule?.startsWith('| ---')) throw new Error(`No table under '${heading}'`);
  return lines.map(rowOf);
}

/** The names in the first cells of that table. */
export function compatibilityNames(heading: string): readonly string[] {
  return compatibilityRows(heading).map(({ name }) => name);
}

function rowOf(line: string): CompatibilityRow {
  const [first = '', ...cells] = line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
  const name = /^`([^`]+)`$/.exec(first)?.[1];
  const claims = cells.slice(0, -1).map((cell) => cell.split(', '));
  const strange = claims.flat().filter((word) => !WORDS.has(word));
  if (name === undefined || claims.length === 0 || strange.length > 0)
    throw new Error(`Not a line of the page: ${line}`);
  return { name, claims };
}
