/** The clock of one request: it can be stopped and started again, and it runs out only once. */
import { EgressError } from './egress-error.ts';

/** Aborts a request when its time is over, when its caller says so, or when its answer is cut. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Gives the full time again, from now. */
  restart(): void;
  /** Stops the clock, for a silence that may last. */
  pause(): void;
  /** Aborts, and answers the error for the caller to throw. */
  cut<Cause>(error: Cause): Cause;
  /** Lets go of the clock and of the caller's signal. */
  end(): void;
}

/** Starts the clock; `onEnd` is told when it has let go. */
export function deadline(
  timeoutMs: number,
  target: string,
  caller: AbortSignal | null | undefined,
  onEnd: () => void,
): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: NodeJS.Timeout | undefined;

  const runOut = () => {
    controller.abort(new EgressError('answer_too_slow', target, `it took more than ${timeoutMs} ms`));
  };
  const forward = () => controller.abort(caller?.reason);
  const pause = () => clearTimeout(timer);
  const restart = () => {
    clearTimeout(timer);
    timer = setTimeout(runOut, timeoutMs);
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

  // Not AbortSignal.any: callers' signals live for whole sessions, and Node 20 keeps what was joined to them.
  caller?.addEventListener('abort', forward, { once: true });
  if (caller?.aborted) forward();
  else restart();
  return { signal, restart, pause, cut, end };
}
