/** Runs a turn: drives the machine with what comes in, and keeps the turn before its last event is told. */
import { type TurnCompaction, withCompaction } from '../compaction/turn-compaction.ts';
import { toApiError } from '../errors.ts';
import { type Beat, withBeats } from './beats.ts';
import type { TurnEnd, TurnEvent, TurnInput } from './events.ts';
import { hasLeft } from './lifetime.ts';
import { step } from './machine.ts';
import { startState, type TurnPlan, type TurnState } from './state.ts';
import { type Loop, turnInputs } from './tool-loop.ts';

/** Of so many beats in a row the last is an event, since some clients' idle timers do not see comments. */
const EVENT_BEAT = 4;

/** Everything one turn needs. */
export interface Turn extends Loop {
  readonly plan: TurnPlan;
  /** How the conversation is compacted at the turn's end; undefined where it is not. */
  readonly compaction?: TurnCompaction | undefined;
  /** Milliseconds of silence before a beat; undefined for none. */
  readonly beatMs: number | undefined;
  /** Whether beats are comments, but for each fourth in a row, or all events. */
  readonly beatComments: boolean;
  /** Unix seconds. */
  readonly now: () => number;
  /** Keeps the turn; what it throws fails the turn. */
  readonly keep: (end: TurnEnd) => Promise<void>;
}

type Step = readonly [TurnState, readonly TurnEvent[]];

/**
 * Yields what the turn says, a batch at a time. Throws only before the first batch, where the model refused, and when
 * the client left; any other failure is told as an `error` and a failed `turn-end`.
 */
export async function* runTurn(turn: Turn): AsyncGenerator<readonly TurnEvent[]> {
  let state = startState(turn.plan);
  try {
    for await (const said of withBeats(
      withCompaction(
        turnInputs(turn, () => state),
        turn.compaction,
        () => state,
      ),
      turn.beatMs,
    )) {
      const [next, events] = 'beat' in said ? beat(state, said, turn.beatComments) : heard(state, said);
      state = next;
      if (events.length > 0) yield events;
      if (state.ended) return;
    }
    yield await endKept(state, turn);
  } catch (error) {
    if (!state.started || hasLeft(turn.call.signal)) throw error;
    const { body, status, cause } = toApiError(error);
    const [, events] = step(state, [{ type: 'fail', error: { ...body, status, cause } }]);
    yield events;
  }
}

function heard(state: TurnState, batch: readonly TurnInput[]): Step {
  return step(state, state.started ? batch : [{ type: 'start' }, ...batch]);
}

function beat(state: TurnState, { beat: count }: Beat, comments: boolean): Step {
  if (!state.started) return [state, []];
  if (comments && count % EVENT_BEAT !== 0) return [state, [{ type: 'heartbeat' }]];
  return step(state, [{ type: 'keepalive' }]);
}

/** The last events, told only once the turn can be continued. */
async function endKept(state: TurnState, { now, keep }: Turn): Promise<readonly TurnEvent[]> {
  const [, events] = step(state, [{ type: 'end', at: now() }]);
  const end = events.at(-1);
  if (end?.type === 'turn-end') await keep(end);
  return events;
}
