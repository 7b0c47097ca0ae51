/** Limits how long a turn may run: until the client leaves, the time limit passes, or the server shuts down. */

import { limitScope } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import type { Activity, Running } from '../request/activity.ts';
import type { EndpointRequest } from '../request/endpoint-request.ts';

/** How long a client has to read the timeout error, in milliseconds. */
const GRACE_MS = 1000;

/** What a turn needs of its request. */
type TurnRequest = Pick<EndpointRequest, 'scope' | 'signal' | 'abort' | 'disconnect'>;

/** The end of a turn, for any reason. */
export interface Lifetime {
  /** Aborted with an `ApiError` if the server ends the turn, or with the client's own reason if the client left. */
  readonly signal: AbortSignal;
  /**
   * Resolves when the turn may run; undefined if it may at once. Rejects with `too_many_streams`, `server_draining` or
   * the signal's reason.
   */
  readonly place: Promise<void> | undefined;
  /** Stops watching. Call it when the turn is over; calling it again is harmless. */
  readonly leave: () => void;
  /** Runs the function when the turn is over, at once if it is over already. It must not throw. */
  readonly whenOver: (run: () => void) => void;
}

/**
 * Begins a turn, which may have to wait for its place; one that `isPatient` waits as long as it may take. Throws
 * `too_many_streams` or `server_draining`.
 */
export function beginTurn(request: TurnRequest, durationMs: number, turns: Activity, isPatient = false): Lifetime {
  return new BegunTurn(request, durationMs, turns, isPatient);
}

/**
 * Does the work in front of the model's answer once the turn may run. Rejects as soon as the turn is over, even if a part of
 * the host never answers; what it answers later is ignored.
 */
export async function withinTurn<Result>(
  { signal, place }: Pick<Lifetime, 'signal' | 'place'>,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  if (place) await place;
  return untilAborted(signal, work);
}

/**
 * A class, not an object literal: V8 may allocate literals among old objects, where this one would keep all that it leads to until the next
 * full garbage collection.
 */
class BegunTurn implements Lifetime, Running {
  readonly tenant: string;
  readonly signal: AbortSignal;
  readonly abort: (reason: ApiError) => void;
  readonly disconnect: (() => void) | undefined;
  readonly isPatient: boolean;
  readonly place: Promise<void> | undefined;
  line: object | undefined = undefined;
  before: Running | undefined = undefined;
  after: Running | undefined = undefined;
  private readonly turns: Activity;
  private readonly unlink: () => void;
  private readonly timer: NodeJS.Timeout;
  /** Set once the time is over. */
  cut: NodeJS.Timeout | undefined = undefined;
  /** What is to be done when the turn is over; undefined once it is. */
  private waiting: (() => void)[] | undefined = [];

  /** Throws as `beginTurn` does. */
  constructor(request: TurnRequest, durationMs: number, turns: Activity, isPatient: boolean) {
    const { signal, abort, unlink } = stoppable(request);
    this.tenant = limitScope(request.scope);
    this.signal = signal;
    this.abort = abort;
    this.unlink = unlink;
    this.disconnect = request.disconnect;
    this.isPatient = isPatient;
    this.turns = turns;
    this.place = this.begin();
    this.timer = setTimeout(expire, durationMs, this).unref();
  }

  readonly leave = (): void => {
    const { waiting } = this;
    if (!waiting) return;
    this.waiting = undefined;
    clearTimeout(this.timer);
    clearTimeout(this.cut);
    this.unlink();
    this.turns.end(this);
    for (const run of waiting) run();
  };

  readonly whenOver = (run: () => void): void => {
    if (this.waiting) this.waiting.push(run);
    else run();
  };

  private begin(): Promise<void> | undefined {
    try {
      return this.turns.begin(this);
    } catch (error) {
      this.unlink();
      throw error;
    }
  }
}

/** A function of the timer's argument, not a closure for each turn. */
function expire(turn: BegunTurn): void {
  // A client that does not read never receives the error, and would occupy its place for ever. Set first: the abort may end the turn at once.
  turn.cut = setTimeout(() => turn.disconnect?.(), GRACE_MS).unref();
  turn.abort(new ApiError('duration_exceeded', 'The response took longer than this server allows.'));
}

/** A signal that aborts with the request's signal and can also be aborted earlier; `unlink` separates the two. */
function stoppable({ signal, abort }: TurnRequest) {
  if (abort) return { signal, abort, unlink: () => {} };
  const stop = new AbortController();
  const hangUp = () => stop.abort(signal.reason);
  if (signal.aborted) hangUp();
  signal.addEventListener('abort', hangUp, { once: true });
  return {
    signal: stop.signal,
    abort: (reason: ApiError) => stop.abort(reason),
    unlink: () => signal.removeEventListener('abort', hangUp),
  };
}
