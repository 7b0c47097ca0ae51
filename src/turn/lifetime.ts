/** Limits how long a turn may run: until the client leaves, the time limit passes, or the server shuts down. */
import type { Activity, Running } from '../ports/endpoints/activity.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { shareOf } from '../ports/scope.ts';
import { ApiError } from '../protocol/errors.ts';

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
  const { signal, abort, unlink } = stoppable(request);
  const { disconnect, scope } = request;
  const running: Running = { tenant: shareOf(scope), signal, abort, disconnect, isPatient };
  const place = begun(running, turns, unlink);
  let cut: NodeJS.Timeout | undefined;
  const expire = () => {
    abort(new ApiError('duration_exceeded', 'The response took longer than this server allows.'));
    // A client that does not read never receives the error, and would occupy its place for ever.
    cut = setTimeout(() => request.disconnect?.(), GRACE_MS).unref();
  };
  const timer = setTimeout(expire, durationMs).unref();
  const over = new Over();
  const leave = () => {
    clearTimeout(timer);
    clearTimeout(cut);
    unlink();
    turns.end(running);
    over.end();
  };
  return { signal, place, leave, whenOver: (run) => over.add(run) };
}

/** What is to be done when a turn is over. */
class Over {
  private waiting: (() => void)[] | undefined = [];

  add(run: () => void): void {
    if (this.waiting) this.waiting.push(run);
    else run();
  }

  end(): void {
    const { waiting = [] } = this;
    this.waiting = undefined;
    for (const run of waiting) run();
  }
}

function begun(running: Running, turns: Activity, unlink: () => void): Promise<void> | undefined {
  try {
    return turns.begin(running);
  } catch (error) {
    unlink();
    throw error;
  }
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
