/** Tests that need something of the machine, and say in their names what is missing where they are skipped. */

/** `it` where the condition holds; otherwise a skip whose name says why not. */
export function itWhere(holds: boolean, reason: string): typeof it {
  // The cast: only the call with a name and a body is used.
  return holds ? it : (((name, body) => it.skip(skipped(name, reason), body)) as typeof it);
}

/** `describe` where the condition holds; otherwise a skip whose name says why not. Tables are skipped as they are. */
export function describeWhere(holds: boolean, reason: string): typeof describe {
  const skip = (name: string, body: () => void) => describe.skip(skipped(name, reason), body);
  // The cast: only the call with a name and a body, and `each`, are used.
  return holds ? describe : (Object.assign(skip, { each: describe.skip.each }) as unknown as typeof describe);
}

function skipped(name: string, reason: string): string {
  return `${name} (skipped: ${reason})`;
}
