/** Tests that need something of the machine, and say in their names what is missing where they are skipped. */

type Named = (name: string, body: () => void) => void;

/** `it` where the condition holds; otherwise a skip whose name says why not. */
export function itWhere(holds: boolean, reason: string): typeof it {
  // The cast: only the call with a name and a body is used.
  return holds ? it : (((name, body) => it.skip(skipped(name, reason), body)) as typeof it);
}

/** `describe` where the condition holds; otherwise a skip whose name says why not. */
export function describeWhere(holds: boolean, reason: string): Named {
  return holds ? describe : (name, body) => describe.skip(skipped(name, reason), body);
}

function skipped(name: string, reason: string): string {
  return `${name} (skipped: ${reason})`;
}
