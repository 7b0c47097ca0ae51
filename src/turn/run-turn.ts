/** Runs a turn: drives the machine with what comes in, and keeps the turn before its last event is told. */

import { hasLeft } from '../ports/api-request.ts';
import { toApiError } from '../protocol/errors.ts';
import type { TurnEnd, TurnEvent, TurnInput } from '../protocol/events.ts';
import { type Beat, withBeats } from '../streams/heartbeats.ts';
import { inTurn, Layer, NOBODY, type Pieces, type Sink } from '../streams/pull-stream.ts';
import { step } from './machine.ts';
import { startState, type TurnPlan, type TurnState } from './state.ts';
import { type Inputs, type Loop, soleAnswer, turnSources } from './tool-loop.ts';
import { type TurnCompaction, withCompaction } from './with-compaction.ts';

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
  /** Whether its start is told before the model has answered, so that a refusal is told as a failure of the turn. */
  readonly startsAtOnce: boolean;
  /** Called when the turn is over, however it ended; perhaps more than once. */
  readonly leave: () => void;
}

type Step = readonly [TurnState, readonly TurnEvent[]];

/**
 * What the turn says, a batch at a time. Throws only before the first batch, where the model refused, and when the client
 * left; any other failure is told as an `error` and a failed `turn-end`.
 */
export function runTurn(turn: Turn): Pieces<readonly TurnEvent[]> {
  return new RunningTurn(turn);
}

class RunningTurn extends Layer<readonly TurnEvent[]> implements Sink<readonly TurnInput[] | Beat> {
  private readonly turn: Turn;
  private readonly inputs: Pieces<readonly TurnInput[] | Beat>;
  private state: TurnState;
  private over = false;
  private sink: Sink<readonly TurnEvent[]> = NOBODY;

  constructor(turn: Turn) {
    super();
    this.turn = turn;
    this.state = startState(turn.plan);
    this.inputs = withBeats(
      inputsOf(turn, () => this.state),
      turn.beatMs,
    );
  }

  ask(sink: Sink<readonly TurnEvent[]>): void {
    this.sink = sink;
    if (this.over) this.finish(sink);
    else if (this.turn.startsAtOnce && !this.state.started) this.start();
    else this.inputs.ask(this);
  }

  private start(): void {
    const [next, events] = step(this.state, [{ type: 'start' }]);
    this.state = next;
    this.say(events);
  }

  came(input: readonly TurnInput[] | Beat): void {
    const [next, events] = 'beat' in input ? beat(this.state, input, this.turn) : hear(this.state, input);
    this.state = next;
    this.over = next.ended;
    if (events.length > 0) this.say(events);
    else this.ask(this.sink);
  }

  ended(): void {
    endKept(this.state, this.turn)
      .then((events) => this.sayLast(events))
      .catch((error) => this.failed(error));
  }

  failed(error: unknown): void {
    const { state, turn } = this;
    if (!state.started || hasLeft(turn.call.signal)) {
      turn.leave();
      return this.sink.failed(error);
    }
    const { body, status, cause, server } = toApiError(error);
    const [, events] = step(state, [{ type: 'fail', error: { ...body, status, cause, server } }]);
    this.sayLast(events);
  }

  async close(): Promise<void> {
    this.over = true;
    this.turn.leave();
    await this.inputs.return();
  }

  private sayLast(events: readonly TurnEvent[]): void {
    this.over = true;
    this.say(events);
  }

  private say(events: readonly TurnEvent[]): void {
    this.turn.told(events);
    this.sink.came(events);
  }
}

function inputsOf(turn: Turn, current: () => TurnState): Inputs {
  if (turn.plan.owners.size === 0 && !turn.compaction) return soleAnswer(turn);
  const sources = turnSources(turn, current);
  return inTurn(turn.compaction ? withCompaction(sources, turn.compaction, current) : sources);
}

function hear(state: TurnState, batch: readonly TurnInput[]): Step {
  return step(state, state.started ? batch : [{ type: 'start' }, ...batch]);
}

function beat(state: TurnState, { beat: count }: Beat, { beatComments: comments }: Turn): Step {
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
