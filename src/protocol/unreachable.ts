/** The end of a switch that must cover every case, so that a new case is a compile error. */

/** Throws for a case that the types exclude. */
export function unreachable(value: never): never {
  throw new TypeError(`unreachable case: ${JSON.stringify(value)}`);
}
