/** Patterns for names of tools and models: the name itself, or with `*` for any characters. */

/** Maximum number of patterns with a `*` in one list: each of them is tried with each tool. */
const MAX_WILDCARDS = 256;
/** Maximum characters of a pattern; no tool or model has a longer name. */
export const LONGEST_PATTERN = 256;

/** Whether one of the patterns fits a name. */
export type NameTest = (name: string) => boolean;

/** Reads a list of patterns. Throws a `TypeError` that begins with `owner`, such as `mcpTools: server 'x': include`. */
export function nameTest(owner: string, patterns: readonly string[]): NameTest {
  const long = patterns.find(({ length }) => length === 0 || length > LONGEST_PATTERN);
  if (long !== undefined)
    throw new TypeError(`${owner} must hold names of 1 to ${LONGEST_PATTERN} characters, got one of ${long.length}`);
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')));
  const wild = patterns.filter((pattern) => pattern.includes('*')).map(wildcardTest);
  if (wild.length > MAX_WILDCARDS)
    throw new TypeError(`${owner} must hold at most ${MAX_WILDCARDS} patterns with '*', got ${wild.length}`);
  return (name) => exact.has(name) || wild.some((fitsName) => fitsName(name));
}

/** The test of one pattern with `*`; linear in the name for each piece between them. */
export function wildcardTest(pattern: string): NameTest {
  const pieces = pattern.split('*');
  return (name) => matchesPieces(pieces, name);
}

/** The pieces in their order, the first at the start and the last at the end; the first place of a piece is as good as any. */
function matchesPieces(pieces: readonly string[], name: string): boolean {
  const [first = '', ...others] = pieces;
  const last = others.pop() ?? '';
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const piece of others) {
    const at = name.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
