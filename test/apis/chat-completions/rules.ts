/** The rules of a round in which the server owns `ours`. */
import type { RoundRules } from '../../../src/apis/chat-completions/round-state.ts';

let ids = 0;

/** Tight limits, and call ids that count up. */
export const RULES: RoundRules = {
  hidesCalls: true,
  callRules: {},
  isOwned: (name) => name === 'ours',
  newCallId: () => `own_${++ids}`,
  limits: { outputBytes: 1000, argumentBytes: 100, eventBytes: 10_000 },
};
