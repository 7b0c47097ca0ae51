/** A switch that must cover every case ends here, so that a new case is a compile error. */

/** Throws for a case that the types say cannot happen. */
export function unreachable(value: never): never {
  throw new TypeError(`unreachable case: ${JSON.stringify(value)}`);
}
