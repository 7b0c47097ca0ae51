/** The timer of one request: it can be stopped and restarted, and it expires only once. */
import { EgressError } from './egress-error.ts';

/** Aborts a request on timeout, when its caller aborts, or when its answer is cut. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Restarts the timer with the full time. */
  restart(): void;
  /** Stops the timer, for a pause of any length. */
  pause(): void;
  /** Aborts, and returns the error for the caller to throw. */
  cut<Cause>(error: Cause): Cause;
  /** Releases the timer and the caller's signal. */
  end(): void;
}

/** Starts the timer; calls `onEnd` when both are released. */
export function deadline(
  timeoutMs: number,
  target: string,
  caller: AbortSignal | null | undefined,
  onEnd: () => void,
): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: NodeJS.Timeout | undefined;

  const expire = () => {
    controller.abort(new EgressError('answer_too_slow', target, `it took more than ${timeoutMs} ms`));
  };
  const forward = () => controller.abort(caller?.reason);
  const pause = () => clearTimeout(timer);
  const restart = () => {
    clearTimeout(timer);
    timer = setTimeout(expire, timeoutMs);
  };
  const end = () => {
    clearTimeout(timer);
    caller?.removeEventListener('abort', forward);
    onEnd();
  };
  const cut = <Cause>(error: Cause): Cause => {
    end();
    controller.abort(error);
    return error;
  };

  // Not AbortSignal.any: callers' signals live for whole sessions, and Node 20 keeps the joined signals alive.
  caller?.addEventListener('abort', forward, { once: true });
  if (caller?.aborted) forward();
  else restart();
  return { signal, restart, pause, cut, end };
}
