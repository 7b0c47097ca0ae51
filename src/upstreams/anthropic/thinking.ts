/** How much the model may think, and how a thought is kept so that the model can be given it back. */
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** `off`, a budget in tokens from 1024, or the name of an effort of adaptive thinking. */
export type Thinking = 'off' | (string & {}) | number;

/** What each `reasoning.effort` means; one that is not in the table is noted and left out. */
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

/** For older models: tokens to think with, which come on top of `maxTokens`. */
export const BUDGET_THINKING: ThinkingTable = {
  none: 'off',
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 20_480,
};

/** The wire takes no smaller budget. */
const SMALLEST_BUDGET = 1024;

/** Whether the value can stand in a table. */
export function isThinking(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && value >= SMALLEST_BUDGET;
  return typeof value === 'string' && value !== '';
}

/** The thinking that was asked for, and the room for it. */
export interface ThinkingPlan {
  /** `max_tokens`. */
  readonly maxTokens: number;
  /** The budget, where there is one; undefined for thinking without a budget, or none. */
  readonly budget: number | undefined;
  /** An effort of adaptive thinking. */
  readonly effort: string | undefined;
  readonly off: boolean;
}

/**
 * Makes room for a budget. A client's own limit includes what the model thinks, as OpenAI's does, so the budget takes
 * at most half of it; where that is less than the wire allows, the model does not think.
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
  return budget < SMALLEST_BUDGET ? none : { ...none, budget };
}

/** The thinking block in the state of an item; undefined where it is none. */
export function thoughtIn(state: unknown): JsonObject | undefined {
  return isRecord(state) ? thinkingBlock(state) : undefined;
}

/** Only what a thinking block has. */
function thinkingBlock({ type, thinking, signature, data }: JsonObject): JsonObject | undefined {
  if (type === 'redacted_thinking' && typeof data === 'string') return { type, data };
  if (type !== 'thinking' || typeof thinking !== 'string' || typeof signature !== 'string') return undefined;
  return { type, thinking, signature };
}
