/** The size of a model server's own values, checked before they are stored. */

/** Deeper than any server nests its state; recursive code can go this deep without overflowing the stack. */
const DEEPEST = 32;
/** The base cost of a value, regardless of its content. */
const BARE = 8;

/** The approximate number of characters of the value's JSON; undefined if it is nested too deeply to be stored. */
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
