/** Runs a turn: drives the state machine with its input, and stores the turn before its last event is emitted. */

import { ApiError, toApiError } from '../../protocol/errors.ts';
import type { TurnEnd, TurnEvent, TurnInput } from '../../protocol/events.ts';
import type { OutputItem } from '../../protocol/items.ts';
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
import { canRefuse } from './machine/call-permission.ts';
import { step } from './machine/machine.ts';
import { isCutOff, startState, type TurnPlan, type TurnState } from './machine/state.ts';
import { type Inputs, type Loop, modelOutput, requireFinish, turnRounds } from './tool-loop.ts';

/** The last of this many heartbeats in a row is an event, since some clients' idle timers do not see comments. */
const EVENT_HEARTBEAT = 4;

/** Whether the heartbeat of this number, counted from 1 since the last event, is a comment. */
export function isComment({ heartbeatComments }: Pick<Turn, 'heartbeatComments'>, count: number): boolean {
  return heartbeatComments && count % EVENT_HEARTBEAT !== 0;
}

/** The compaction that a client requested. */
export interface TurnCompaction {
  /** Whether the client requested only the compaction, so that no model turn runs. */
  readonly only: boolean;
  /** Yields that the conversation was compacted; yields nothing if there is no need. */
  readonly compact: (output: readonly OutputItem[]) => AsyncIterable<readonly TurnInput[]>;
}

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
  /** Runs the turn in another way, where other turns are a part of it; undefined for a turn of its own. */
  readonly runBy?: ((turn: Turn) => PullStream<readonly TurnEvent[]>) | undefined;
}

/**
 * The events of the turn, a batch at a time. Throws only before the first batch, if the model refused before the turn was
 * opened, and if the client left; any other failure is emitted as an `error` and a failed `turn-end`.
 */
export function runTurn(turn: Turn): PullStream<readonly TurnEvent[]> {
  return turn.runBy ? turn.runBy(turn) : new RunningTurn(turn);
}

/** Each pull reads one batch of input, takes the machine one step further, and emits the events of the step. */
class RunningTurn extends Stage<readonly TurnEvent[]> implements Consumer<readonly TurnInput[] | Heartbeat> {
  private readonly turn: Turn;
  private readonly inputs: PullStream<readonly TurnInput[] | Heartbeat>;
  /** No tool runs and no call is refused, so the model is asked once, and its request need not be kept in memory. */
  private readonly isSingleAnswer: boolean;
  private state: TurnState;
  private over = false;
  private consumer: Consumer<readonly TurnEvent[]> = NULL_CONSUMER;

  constructor(turn: Turn) {
    super();
    const { plan, compaction, resumed, place } = turn;
    this.turn = turn;
    this.state = resumed?.state ?? startState(plan);
    this.isSingleAnswer =
      plan.owners.size === 0 && !plan.needsCall && !canRefuse(plan) && !compaction && !resumed && !place;
    const inputs = this.isSingleAnswer
      ? modelOutput(turn, turn.takeRequest())
      : pullInTurn(inputSources(turn, () => this.state));
    this.inputs = withHeartbeats(inputs, turn.silence);
  }

  pull(consumer: Consumer<readonly TurnEvent[]>): void {
    this.consumer = consumer;
    if (this.over) this.finish(consumer);
    else if (this.turn.startsAtOnce && !this.state.started) this.advance([{ type: 'start' }]);
    else this.inputs.pull(this);
  }

  onChunk(input: readonly TurnInput[] | Heartbeat): void {
    const { started } = this.state;
    if (!('count' in input)) this.advance(started ? input : [{ type: 'start' }, ...input]);
    else if (!started) this.advance([{ type: 'start' }]);
    else if (isComment(this.turn, input.count)) this.emit([{ type: 'heartbeat' }]);
    else this.advance([{ type: 'keepalive' }]);
  }

  onEnd(): void {
    this.end().catch((error) => this.onError(error));
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

  private advance(inputs: readonly TurnInput[]): void {
    const [next, events] = step(this.state, inputs);
    this.state = next;
    this.over = next.ended;
    if (events.length > 0) this.emit(events);
    else this.pull(this.consumer);
  }

  /** The last events are emitted only once the turn can be continued. */
  private async end(): Promise<void> {
    if (this.isSingleAnswer) requireFinish(this.state);
    const [, events] = step(this.state, [{ type: 'end', at: this.turn.now() }]);
    const last = events.at(-1);
    if (last?.type === 'turn-end') await this.turn.keep(last);
    this.emitLast(events);
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

/**
 * Everything that the machine receives, one source after another: what the model writes and its tools return, round by round, and then
 * the compaction. Heartbeats fill the time until the turn has its place, as they do while the model sends nothing.
 */
function inputSources(turn: Turn, current: () => TurnState): AsyncGenerator<Inputs, void> {
  // Each generator that hands on another's values makes promises for them.
  return turn.place || turn.compaction ? roundsWithCompaction(turn, current) : turnRounds(turn, current);
}

async function* roundsWithCompaction(turn: Turn, current: () => TurnState): AsyncGenerator<Inputs, void> {
  const { compaction, place } = turn;
  if (place) await place;
  if (!compaction?.only) yield* turnRounds(turn, current);
  if (!compaction) return;
  const state = current();
  // A truncated turn is not compacted.
  if (!isCutOff(state) && !state.stopped) yield compaction.compact(state.output.from(0));
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
