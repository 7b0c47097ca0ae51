/** How long a turn may live: until the client leaves, its time is up, or the server shuts down. */
import type { Activity } from '../ports/endpoints/activity.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { ApiError } from '../protocol/errors.ts';

/** How long a client has to read that its time is up, in milliseconds. */
const GRACE_MS = 1000;

/** The end of a turn, wherever it comes from. */
export interface Lifetime {
  /** Aborted with an `ApiError` where the server ends the turn, with the client's own reason where it left. */
  readonly signal: AbortSignal;
  /** Stops watching; to be called when the turn is over, and harmless when called again. */
  readonly leave: () => void;
}

/** Begins a turn. Throws `too_many_streams` or `server_draining`. */
export function beginTurn(request: EndpointRequest, durationMs: number, turns: Activity): Lifetime {
  const { signal, abort, unlink } = stoppable(request);
  const release = turns.begin({ abort, disconnect: request.disconnect });
  let cut: NodeJS.Timeout | undefined;
  const expire = () => {
    abort(new ApiError('duration_exceeded', 'The response took longer than this server allows.'));
    // A client that does not read is not told, and would hold its place for ever.
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

/** A signal that ends with the call's, and can be ended before; `unlink` parts them. */
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
