/** How long a turn may live: until the client leaves, its time is up, or the server shuts down. */
import type { Activity } from '../activity.ts';
import type { Call } from '../call.ts';
import { ApiError } from '../errors.ts';

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
export function beginTurn(call: Call, durationMs: number, turns: Activity): Lifetime {
  const stop = new AbortController();
  const release = turns.begin({ abort: (reason) => stop.abort(reason), disconnect: call.disconnect });
  const hangUp = () => stop.abort(call.signal.reason);
  let cut: NodeJS.Timeout | undefined;
  const expire = () => {
    stop.abort(new ApiError('duration_exceeded', 'The response took longer than this server allows.'));
    // A client that does not read is not told, and would hold its place for ever.
    cut = setTimeout(() => call.disconnect?.(), GRACE_MS).unref();
  };
  if (call.signal.aborted) hangUp();
  call.signal.addEventListener('abort', hangUp, { once: true });
  const timer = setTimeout(expire, durationMs).unref();
  const leave = () => {
    clearTimeout(timer);
    clearTimeout(cut);
    call.signal.removeEventListener('abort', hangUp);
    release();
  };
  return { signal: stop.signal, leave };
}

/** A turn that is stopped by the server has a reason that the client is told; a client that left has none. */
export function hasLeft(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof ApiError);
}
