/** Refuses JSON that is nested so deeply that recursive code would overflow the stack. */
import { ApiError } from './errors.ts';

/** Deeper than any schema needs. */
const MAX_DEPTH = 128;

/** Walks the JSON without recursion; throws `invalid_value` past the limit. */
export function refuseDepth(body: unknown): void {
  let level: unknown[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) {
      throw new ApiError('invalid_value', `The request is nested deeper than ${MAX_DEPTH} levels.`);
    }
    level = level.flatMap(childrenOf);
  }
}

function childrenOf(value: unknown): readonly unknown[] {
  const children = Array.isArray(value) ? value : Object.values(value as object);
  return children.filter((child) => typeof child === 'object' && child !== null);
}
