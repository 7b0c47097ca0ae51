/** Limits by the names that the engine knows them by: a test sets those, too, that no host may. */
import type { LimitOptions } from '../../src/index.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/ports/limits.ts';
import { LIMIT_GROUPS } from '../../src/server/options/limit-options.ts';

/**
 * Calls `start` with the options for these limits; those without an option hold for the routers that it makes before it
 * first waits.
 */
export function withLimits<Result>(limits: Partial<Limits>, start: (options: LimitOptions) => Result): Result {
  const constants: Record<string, number> = { ...limits };
  const options: Record<string, Record<string, number | undefined>> = {};
  for (const [group, names] of Object.entries(LIMIT_GROUPS)) {
    // The cast: the table has only names of limits.
    const settings = Object.entries(names) as [string, keyof Limits][];
    options[group] = Object.fromEntries(settings.map(([name, setting]) => [name, limits[setting]]));
    for (const [, setting] of settings) delete constants[setting];
  }
  const before = { ...DEFAULT_LIMITS };
  Object.assign(DEFAULT_LIMITS, constants);
  try {
    return start(options);
  } finally {
    Object.assign(DEFAULT_LIMITS, before);
  }
}
