/** Indents declarations with tabs, for a package that is smaller. */

const INDENT = /^(?: {4})+/;

/** The lines of declarations as the compiler writes them, which have no text over several lines. */
export function typesWithTabs(types) {
  return types
    .split('\n')
    .map((line) => line.replace(INDENT, (spaces) => '\t'.repeat(spaces.length / 4)))
    .join('\n');
}
