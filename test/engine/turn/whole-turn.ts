/** Whole turns through the machine, one step for each input, held to the laws. */

import { step } from '../../../src/engine/turn/machine/machine.ts';
import { startState, type TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { TurnEnd, TurnEvent, TurnInput } from '../../../src/protocol/events.ts';
import type { OutputItem } from '../../../src/protocol/items.ts';
import { expectLaws } from '../../support/laws.ts';

export const SEED = '0123456789abcdef0123456789abcdef';
export const START: TurnInput = { type: 'start' };
export const END: TurnInput = { type: 'end', at: 1_700_000_000 };
/** The client runs all tools, and no limit is near. */
export const DEFAULT_PLAN: TurnPlan = {
  seal: String,
  seed: SEED,
  reasoning: 'summary_text',
  queuedEvent: false,
  outputBytes: 1_000_000,
  argumentBytes: 1_000_000,
  owners: new Map(),
  ownedAs: 'mcp_call',
};

/** The value and everything in it frozen, so that a step that changes its arguments throws. */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}

/** The events of these inputs, one step each, from states that must not change. */
export function feed(inputs: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly TurnEvent[] {
  let state = startState({ ...DEFAULT_PLAN, ...plan });
  return inputs.flatMap((input) => {
    const [next, events] = step(frozen(state), frozen([input]));
    state = next;
    return events;
  });
}

/** The events of a whole turn, which keep the laws; `plan` goes over `DEFAULT_PLAN`. */
export function wholeTurn(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly TurnEvent[] {
  const events = feed([START, ...model, END], plan);
  expectLaws(events);
  return events;
}

/** The last of the events. Throws unless it ends the turn. */
export function turnEndIn(events: readonly TurnEvent[]): TurnEnd {
  const end = events.at(-1);
  if (end?.type !== 'turn-end') throw new Error('The last event of a turn is turn-end.');
  return end;
}

/** The last event of the whole turn. */
export function endOf(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): TurnEnd {
  return turnEndIn(wholeTurn(model, plan));
}

/** The items that the whole turn ends with. */
export function outputOf(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly OutputItem[] {
  return endOf(model, plan).output;
}
