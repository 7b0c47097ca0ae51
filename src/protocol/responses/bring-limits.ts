/** How much a client may write into one body. */
import { isRecord } from '../record.ts';

/** Counts; each is positive, `Infinity` sets no limit. */
export interface RequestLimits {
  readonly bodyValues: number;
  readonly inputItems: number;
  readonly tools: number;
}

export const NO_LIMITS: RequestLimits = {
  bodyValues: Number.POSITIVE_INFINITY,
  inputItems: Number.POSITIVE_INFINITY,
  tools: Number.POSITIVE_INFINITY,
};

/** The tools of a list, including those in its namespaces. */
export function toolCount(tools: readonly unknown[]): number {
  let count = tools.length;
  for (const tool of tools) {
    if (isRecord(tool) && tool.type === 'namespace' && Array.isArray(tool.tools)) count += toolCount(tool.tools);
  }
  return count;
}
