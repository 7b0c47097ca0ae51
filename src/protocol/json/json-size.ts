/** How large a value would be as JSON, without writing it. */

/**
 * A lower bound of the bytes of the value's JSON, which is exact for plain ASCII but for what has to be escaped. Stops
 * counting past `enough`. Walks without recursion, since what is measured may be nested deeply.
 */
export function leastBytes(value: unknown, enough = Number.POSITIVE_INFINITY): number {
  const waiting: unknown[] = [value];
  let bytes = 0;
  while (waiting.length > 0 && bytes <= enough) {
    const next = waiting.pop();
    if (typeof next === 'string') bytes += next.length + 2;
    else if (typeof next !== 'object' || next === null) bytes += 1;
    else bytes += takeMembers(next, waiting);
  }
  return bytes;
}

/** Adds the members to those that wait; answers what the value takes besides them. */
function takeMembers(value: object, waiting: unknown[]): number {
  if (Array.isArray(value)) {
    for (const member of value) waiting.push(member);
    return Math.max(2, value.length + 1);
  }
  let bytes = 1;
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    bytes += name.length + 4;
    waiting.push(member);
  }
  return Math.max(2, bytes);
}
