/** Maps the reasoning effort, and keeps a thought so that it can be sent back to the model. */
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** `off`, a budget in tokens from 1024, or the name of an effort of adaptive thinking. */
export type Thinking = 'off' | (string & {}) | number;

/** The meaning of each `reasoning.effort`; an effort that is not in the table is noted and omitted. */
export type ThinkingTable = Readonly<Record<string, Thinking>>;

/** For Claude 4.6 and newer: the model decides how much it thinks. */
export const ADAPTIVE_THINKING: ThinkingTable = {
  none: 'off',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};

/** For older models: thinking budgets in tokens, added to `maxTokens`. */
export const BUDGET_THINKING: ThinkingTable = {
  none: 'off',
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 20_480,
};

/** The API accepts no smaller budget. */
const MIN_BUDGET = 1024;

/** Whether the value may be in a table. */
export function isThinking(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && value >= MIN_BUDGET;
  return typeof value === 'string' && value !== '';
}

/** The requested thinking, and the tokens for it. */
export interface ThinkingPlan {
  /** `max_tokens`. */
  readonly maxTokens: number;
  /** The budget, if there is one; undefined for thinking without a budget, or no thinking. */
  readonly budget: number | undefined;
  /** An effort of adaptive thinking. */
  readonly effort: string | undefined;
  readonly off: boolean;
}

/**
 * Reserves tokens for a budget. A client's own limit includes thinking, as OpenAI's does, so the budget takes at most
 * half of it; if that is less than the API's minimum, the model does not think.
 */
export function planThinking(
  thinking: Thinking | undefined,
  limit: number | undefined,
  maxTokens: number,
): ThinkingPlan {
  const none = { maxTokens: limit ?? maxTokens, budget: undefined, effort: undefined, off: false };
  if (thinking === undefined) return none;
  if (thinking === 'off') return { ...none, off: true };
  if (typeof thinking === 'string') return { ...none, effort: thinking };
  if (limit === undefined) return { ...none, maxTokens: maxTokens + thinking, budget: thinking };
  const budget = Math.min(thinking, Math.floor(limit / 2));
  return budget < MIN_BUDGET ? none : { ...none, budget };
}

/** The thinking block in an item's provider state; undefined if there is none. */
export function thoughtIn(state: unknown): JsonObject | undefined {
  if (!isRecord(state)) return undefined;
  // Copies only the fields of a thinking block.
  const { type, thinking, signature, data } = state;
  if (type === 'redacted_thinking' && typeof data === 'string') return { type, data };
  if (type !== 'thinking' || typeof thinking !== 'string' || typeof signature !== 'string') return undefined;
  return { type, thinking, signature };
}
