/** Runs a turn: drives the machine with what comes in, and keeps the turn before its last event is told. */
import { type TurnCompaction, withCompaction } from '../compaction/turn-compaction.ts';
import { toApiError } from '../errors.ts';
import { inTurn, type Pieces, pieces, type Sink } from '../pieces.ts';
import { type Beat, withBeats } from './beats.ts';
import type { TurnEnd, TurnEvent, TurnInput } from './events.ts';
import { hasLeft } from './lifetime.ts';
import { step } from './machine.ts';
import { startState, type TurnPlan, type TurnState } from './state.ts';
import { type Inputs, type Loop, turnSources } from './tool-loop.ts';

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
  /** Is told of every batch before it goes on. */
  readonly told: (events: readonly TurnEvent[]) => void;
  /** Called when the turn is over, however it ended; perhaps more than once. */
  readonly leave: () => void;
}

type Step = readonly [TurnState, readonly TurnEvent[]];

/**
 * What the turn says, a batch at a time. Throws only before the first batch, where the model refused, and when the client
 * left; any other failure is told as an `error` and a failed `turn-end`.
 */
export function runTurn(turn: Turn): Pieces<readonly TurnEvent[]> {
  let state = startState(turn.plan);
  let over = false;
  const inputs = withBeats(inTurn(sourcesOf(turn, () => state)), turn.beatMs);

  let sink: Sink<readonly TurnEvent[]>;

  const own: Sink<readonly TurnInput[] | Beat> = {
    came(input) {
      const [next, events] = 'beat' in input ? beat(state, input, turn.beatComments) : hear(state, input);
      state = next;
      over = state.ended;
      if (events.length > 0) say(events);
      else ask(sink);
    },
    ended: () => void endKept(state, turn).then(last).catch(own.failed),
    failed(error) {
      if (!state.started || hasLeft(turn.call.signal)) {
        turn.leave();
        return sink.failed(error);
      }
      const { body, status, cause } = toApiError(error);
      const [, events] = step(state, [{ type: 'fail', error: { ...body, status, cause } }]);
      last(events);
    },
  };
  const say = (events: readonly TurnEvent[]) => {
    turn.told(events);
    sink.came(events);
  };
  const last = (events: readonly TurnEvent[]) => {
    over = true;
    say(events);
  };
  const close = async () => {
    over = true;
    turn.leave();
    await inputs.return();
  };
  const ask = (given: Sink<readonly TurnEvent[]>) => {
    sink = given;
    if (over) close().then(sink.ended, sink.failed);
    else inputs.ask(own);
  };
  return pieces(ask, close);
}

function sourcesOf(turn: Turn, current: () => TurnState): AsyncGenerator<Inputs, void> {
  const sources = turnSources(turn, current);
  return turn.compaction ? withCompaction(sources, turn.compaction, current) : sources;
}

function hear(state: TurnState, batch: readonly TurnInput[]): Step {
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
