/** Indents declarations with tabs, which makes the package smaller. */

const INDENT = /^(?: {4})+/;

/** Converts declarations as the compiler writes them; they contain no text of several lines. */
export function typesWithTabs(types) {
  return types
    .split('\n')
    .map((line) => line.replace(INDENT, (spaces) => '\t'.repeat(spaces.length / 4)))
    .join('\n');
}
