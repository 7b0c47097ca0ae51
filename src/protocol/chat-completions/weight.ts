/** How much a value of a model server's own weighs, before it is kept. */

/** Deeper than any server nests what it wants back; recursive code comes this deep without overflowing the stack. */
const DEEPEST = 32;
/** What a value counts, whatever is in it. */
const BARE = 8;

/** About how many characters of JSON the value is; undefined for one that is nested too deeply to be kept. */
export function weightOf(value: unknown, depth = 0): number | undefined {
  if (typeof value === 'string') return BARE + value.length;
  if (typeof value !== 'object' || value === null) return BARE;
  if (depth === DEEPEST) return undefined;
  let weight = BARE;
  for (const [name, member] of Object.entries(value)) {
    const more = weightOf(member, depth + 1);
    if (more === undefined) return undefined;
    weight += name.length + more;
  }
  return weight;
}
