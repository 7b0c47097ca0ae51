/** Tests that need something on the machine; if it is missing, they are skipped with a name that says so. */

/** `it` if the condition holds; otherwise a skip whose name says why not. */
export function itWhere(holds: boolean, reason: string): typeof it {
  // The cast: only the call with a name and a body is used.
  return holds ? it : (((name, body) => it.skip(skipped(name, reason), body)) as typeof it);
}

/** `describe` if the condition holds; otherwise a skip whose name says why not. Tables are skipped as they are. */
export function describeWhere(holds: boolean, reason: string): typeof describe {
  const skip = (name: string, body: () => void) => describe.skip(skipped(name, reason), body);
  // The cast: only the call with a name and a body, and `each`, are used.
  return holds ? describe : (Object.assign(skip, { each: describe.skip.each }) as unknown as typeof describe);
}

function skipped(name: string, reason: string): string {
  return `${name} (skipped: ${reason})`;
}
