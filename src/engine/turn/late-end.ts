/** The events that end the stream of a turn whose process could not end it. */

import type { TurnEnd, TurnError, TurnEvent } from '../../protocol/events.ts';
import { type ResumedResponse, restoredState } from './checkpoint.ts';
import { step } from './machine/machine.ts';
import type { TurnPlan } from './machine/state.ts';

/** The kept events of the turn. */
type Kept = Omit<ResumedResponse, 'stored'>;

/**
 * Ends the turn as failed; what was being written is incomplete. The last event is its `turn-end`, with what is known of
 * it beside the events.
 */
export function failedEnd(
  kept: Kept,
  error: TurnError,
  known: Partial<Pick<TurnEnd, 'usage' | 'upstream'>> = {},
): readonly TurnEvent[] {
  const [, events] = step(restoredState(planFor(kept), kept), [{ type: 'fail', error }]);
  return events.map((event) => (event.type === 'turn-end' ? { ...event, ...known } : event));
}

/** Ends the turn as it was stored; what was being written is complete, as it is there. */
export function storedEnd(kept: Kept, end: Omit<TurnEnd, 'type' | 'sequence'>): readonly TurnEvent[] {
  const [, events] = step(restoredState(planFor(kept), kept), [{ type: 'resume' }, { type: 'end', at: 0 }]);
  return events.map((event) => (event.type === 'turn-end' ? { ...event, ...end } : event));
}

/** Enough of a plan to close what is open: nothing more is written, and nothing is run. */
function planFor({ events }: Kept): TurnPlan {
  const hasRawReasoning = events.some((event) => event.type === 'part-start' && event.part.type === 'reasoning_text');
  return {
    seed: '',
    reasoning: hasRawReasoning ? 'reasoning_text' : 'summary_text',
    owners: new Map(),
    ownedAs: 'mcp_call',
    queuedEvent: false,
    outputBytes: Number.POSITIVE_INFINITY,
    argumentBytes: Number.POSITIVE_INFINITY,
  };
}
