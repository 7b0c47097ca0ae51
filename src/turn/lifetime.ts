/** Limits how long a turn may run: until the client leaves, the time limit passes, or the server shuts down. */
import type { Activity } from '../ports/endpoints/activity.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { ApiError } from '../protocol/errors.ts';

/** How long a client has to read the timeout error, in milliseconds. */
const GRACE_MS = 1000;

/** The end of a turn, for any reason. */
export interface Lifetime {
  /** Aborted with an `ApiError` if the server ends the turn, or with the client's own reason if the client left. */
  readonly signal: AbortSignal;
  /** Stops watching. Call it when the turn is over; calling it again is harmless. */
  readonly leave: () => void;
}

/** Begins a turn. Throws `too_many_streams` or `server_draining`. */
export function beginTurn(request: EndpointRequest, durationMs: number, turns: Activity): Lifetime {
  const { signal, abort, unlink } = stoppable(request);
  const release = turns.begin({ abort, disconnect: request.disconnect });
  let cut: NodeJS.Timeout | undefined;
  const expire = () => {
    abort(new ApiError('duration_exceeded', 'The response took longer than this server allows.'));
    // A client that does not read never receives the error, and would occupy its place for ever.
    cut = setTimeout(() => request.disconnect?.(), GRACE_MS).unref();
  };
  const timer = setTimeout(expire, durationMs).unref();
  const leave = () => {
    clearTimeout(timer);
    clearTimeout(cut);
    unlink();
    release();
  };
  return { signal, leave };
}

/** A signal that aborts with the request's signal and can also be aborted earlier; `unlink` separates the two. */
function stoppable({ signal, abort }: EndpointRequest) {
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
