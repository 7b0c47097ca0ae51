/** How a broken law is reported: by its name, with what was seen. */
import { inspect, isDeepStrictEqual } from 'node:util';

/** Throws unless the law holds. */
export function law(holds: unknown, name: string, seen: unknown): void {
  if (!holds) broken(name, seen);
}

/** Throws unless both are the same value. */
export function same(actual: unknown, expected: unknown, name: string): void {
  if (!isDeepStrictEqual(actual, expected)) broken(name, { actual, expected });
}

/** Throws. */
export function broken(name: string, seen: unknown): never {
  throw new Error(`Broken law: ${name}.\n${inspect(seen, { depth: 8 })}`);
}
