/** The port to a token counter that works before the model server has counted. */
import { inspect } from 'node:util';
import type { ModelRequest } from '../protocol/model-request.ts';

/** Counts the tokens of one model request. Rejects with the signal's reason. */
export type TokenCounter = (request: ModelRequest, signal: AbortSignal) => Promise<number>;

/** The count that a function of the host has returned, made whole: the function may estimate. Throws a `TypeError` for what is no count. */
export function checkTokens(owner: string, count: unknown): number {
  if (typeof count === 'number' && count >= 0 && count < Number.POSITIVE_INFINITY) return Math.ceil(count);
  throw new TypeError(`${owner}: must return a number of tokens, got ${inspect(count, { depth: -1 })}`);
}

/** Counts of a host's requests, by an estimate that becomes better with each answer. */
export interface TokenCounting {
  readonly count: TokenCounter;
  /** The same, and never less than the estimate: for limits, where a count that is too small does harm. */
  readonly upperCount: TokenCounter;
  /** Takes what a model server counts for this request; undefined if nothing can be learnt from it. */
  readonly learner: (request: ModelRequest) => ((inputTokens: number) => void) | undefined;
  /** Whether the host counts by itself, so that nothing is asked or learnt. */
  readonly isHosts: boolean;
}
