/** Runs a turn: drives the state machine with its input, and stores the turn before its last event is emitted. */

import { ApiError, toApiError } from '../../protocol/errors.ts';
import type { TurnEnd, TurnEvent, TurnInput } from '../../protocol/events.ts';
import { type Heartbeat, type Silence, withHeartbeats } from '../../streams/heartbeats.ts';
import {
  type Consumer,
  NULL_CONSUMER,
  type PullStream,
  pullInTurn,
  Stage,
  toPullStream,
} from '../../streams/pull-stream.ts';
import { hasLeft } from '../request/endpoint-request.ts';
import { hasRules } from './machine/call-permission.ts';
import { step } from './machine/machine.ts';
import { isCutOff, startState, type TurnPlan, type TurnState } from './machine/state.ts';
import { type Inputs, type Loop, soleAnswer, turnSources } from './tool-loop.ts';
import type { TurnCompaction } from './turn-compaction.ts';

/** The last of this many heartbeats in a row is an event, since some clients' idle timers do not see comments. */
const EVENT_HEARTBEAT = 4;

/** Everything one turn needs. */
export interface Turn extends Loop {
  readonly plan: TurnPlan;
  /** How the conversation is compacted at the end of the turn; undefined for no compaction. */
  readonly compaction?: TurnCompaction | undefined;
  /** How long it may be silent before it is opened, and before a heartbeat. */
  readonly silence: Silence;
  /** Whether heartbeats are comments (except every fourth in a row), or always events. */
  readonly heartbeatComments: boolean;
  /** Unix seconds. */
  readonly now: () => number;
  /** Stores the turn; an error it throws fails the turn. */
  readonly keep: (end: TurnEnd) => Promise<void>;
  /** Receives every batch before it is passed on, with the state after it. */
  readonly onEvents: (events: readonly TurnEvent[], state: TurnState) => void;
  /** Whether the turn's start is emitted before the model answers, so that a refusal is reported as a failed turn. */
  readonly startsAtOnce: boolean;
  /** Resolves when a turn that has begun already may call the model and tools; undefined if it may at once. */
  readonly place?: Promise<void> | undefined;
  /** Called when the turn is over, for any reason; possibly more than once. */
  readonly leave: () => void;
}

type Step = readonly [TurnState, readonly TurnEvent[]];

/**
 * The events of the turn, a batch at a time. Throws only before the first batch, if the model refused before the turn was
 * opened, and if the client left; any other failure is emitted as an `error` and a failed `turn-end`.
 */
export function runTurn(turn: Turn): PullStream<readonly TurnEvent[]> {
  return new RunningTurn(turn);
}

class RunningTurn extends Stage<readonly TurnEvent[]> implements Consumer<readonly TurnInput[] | Heartbeat> {
  private readonly turn: Turn;
  private readonly inputs: PullStream<readonly TurnInput[] | Heartbeat>;
  private state: TurnState;
  private over = false;
  private consumer: Consumer<readonly TurnEvent[]> = NULL_CONSUMER;

  constructor(turn: Turn) {
    super();
    this.turn = turn;
    this.state = turn.resumed?.state ?? startState(turn.plan);
    this.inputs = withHeartbeats(
      turnInputs(turn, () => this.state),
      turn.silence,
    );
  }

  pull(consumer: Consumer<readonly TurnEvent[]>): void {
    this.consumer = consumer;
    if (this.over) this.finish(consumer);
    else if (this.turn.startsAtOnce && !this.state.started) this.start();
    else this.inputs.pull(this);
  }

  private start(): void {
    const [next, events] = step(this.state, [{ type: 'start' }]);
    this.state = next;
    this.emit(events);
  }

  onChunk(input: readonly TurnInput[] | Heartbeat): void {
    const [next, events] =
      'count' in input ? heartbeatStep(this.state, input, this.turn) : modelStep(this.state, input);
    this.state = next;
    this.over = next.ended;
    if (events.length > 0) this.emit(events);
    else this.pull(this.consumer);
  }

  onEnd(): void {
    endTurn(this.state, this.turn)
      .then((events) => this.emitLast(events))
      .catch((error) => this.onError(error));
  }

  onError(error: unknown): void {
    const { state, turn } = this;
    if (!state.started || hasLeft(turn.call.signal)) {
      turn.leave();
      return this.consumer.onError(error);
    }
    const { body, status, cause, server, advice } = toApiError(error);
    const [, events] = step(state, [{ type: 'fail', error: { ...body, status, cause, server, advice } }]);
    this.emitLast(events);
  }

  close() {
    this.over = true;
    this.turn.leave();
    return this.inputs.close();
  }

  private emitLast(events: readonly TurnEvent[]): void {
    this.over = true;
    this.emit(events);
  }

  private emit(events: readonly TurnEvent[]): void {
    this.turn.onEvents(events, this.state);
    this.consumer.onChunk(events);
  }
}

function turnInputs(turn: Turn, current: () => TurnState): Inputs {
  const { compaction, place } = turn;
  const isSole = turn.plan.owners.size === 0 && !hasRules(turn.plan) && !compaction && !turn.resumed && !place;
  if (isSole) return soleAnswer(turn);
  const sources = turnSources(turn, current);
  const whole = compaction ? withCompaction(sources, compaction, current) : sources;
  return pullInTurn(place ? afterSlot(whole, place) : whole);
}

/** Heartbeats fill the time until then, as they do while the model sends nothing. */
async function* afterSlot(sources: AsyncGenerator<Inputs, void>, place: Promise<void>): AsyncGenerator<Inputs, void> {
  await place;
  yield* sources;
}

function modelStep(state: TurnState, batch: readonly TurnInput[]): Step {
  return step(state, state.started ? batch : [{ type: 'start' }, ...batch]);
}

function heartbeatStep(state: TurnState, { count }: Heartbeat, { heartbeatComments: comments }: Turn): Step {
  if (!state.started) return step(state, [{ type: 'start' }]);
  if (comments && count % EVENT_HEARTBEAT !== 0) return [state, [{ type: 'heartbeat' }]];
  return step(state, [{ type: 'keepalive' }]);
}

/** The last events, emitted only once the turn can be continued. */
async function endTurn(state: TurnState, { now, keep }: Turn): Promise<readonly TurnEvent[]> {
  const [, events] = step(state, [{ type: 'end', at: now() }]);
  const end = events.at(-1);
  if (end?.type === 'turn-end') await keep(end);
  return events;
}

/** Reads a turn to its end, for an answer that is one object. Throws `request_aborted` for one that has none. */
export function readTurnEnd(batches: AsyncIterable<readonly TurnEvent[]>): Promise<TurnEnd> {
  return new Promise((resolve, reject) => new EndReader(toPullStream(batches), resolve, reject).pull());
}

class EndReader implements Consumer<readonly TurnEvent[]> {
  private readonly batches: PullStream<readonly TurnEvent[]>;
  private readonly resolve: (end: TurnEnd) => void;
  readonly onError: (error: unknown) => void;
  private end: TurnEnd | undefined = undefined;

  constructor(
    batches: PullStream<readonly TurnEvent[]>,
    resolve: (end: TurnEnd) => void,
    reject: (error: unknown) => void,
  ) {
    this.batches = batches;
    this.resolve = resolve;
    this.onError = reject;
  }

  pull(): void {
    this.batches.pull(this);
  }

  onChunk(batch: readonly TurnEvent[]): void {
    const last = batch.at(-1);
    if (last?.type === 'turn-end') this.end = last;
    this.pull();
  }

  onEnd(): void {
    if (this.end) this.resolve(this.end);
    else this.onError(new ApiError('request_aborted', 'The request was aborted.'));
  }
}

/** The turn's own sources, followed by the compaction. A truncated turn is not compacted. */
async function* withCompaction(
  sources: AsyncGenerator<Inputs, void>,
  { only, compact }: TurnCompaction,
  current: () => TurnState,
): AsyncGenerator<Inputs, void> {
  if (!only) yield* sources;
  const state = current();
  if (!isCutOff(state) && !state.stopped) yield compact(state.output.from(0));
}
