/** Watches over one call of a model server. */
import { ApiError } from '../../protocol/errors.ts';

/** Ends a call, for whoever runs it. Not an `AbortSignal`, which costs 5 µs more to make and to hear. */
export interface Stop {
  readonly aborted: boolean;
  readonly reason: unknown;
  /** Who is told, one at a time; only from now on. */
  running: Stoppable | undefined;
}

/** What can be stopped. */
export interface Stoppable {
  stopped(reason: unknown): void;
}

/** Watches over one call: aborts it when the caller does, or when it is silent for too long. */
export interface Watchdog {
  readonly call: Stop;
  /** Something arrived: from now on silence is measured by the idle limit. */
  reset(): void;
  /** All has been heard: the call may end by itself. */
  finish(): void;
  /** Ends the watch, and the call unless it has finished. */
  stop(): void;
}

/** Starts the watch; the first limit holds until the first `heard`. Both are in milliseconds. */
export function watchdog(caller: AbortSignal, firstByteMs: number, idleMs: number): Watchdog {
  return new Watch(caller, firstByteMs, idleMs);
}

class Watch implements Watchdog, Stop {
  aborted = false;
  reason: unknown = undefined;
  running: Stoppable | undefined = undefined;
  private readonly caller: AbortSignal;
  private readonly follow: () => void;
  private readonly idleMs: number;
  private timer: NodeJS.Timeout;
  private isFirst = true;
  private finished = false;

  constructor(caller: AbortSignal, firstByteMs: number, idleMs: number) {
    this.caller = caller;
    this.idleMs = idleMs;
    this.timer = setTimeout(expire, firstByteMs, this);
    this.follow = () => this.abort(caller.reason);
    if (caller.aborted) this.follow();
    caller.addEventListener('abort', this.follow, { once: true });
  }

  get call(): Stop {
    return this;
  }

  reset(): void {
    if (!this.isFirst) return void this.timer.refresh();
    this.isFirst = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(expire, this.idleMs, this);
  }

  finish(): void {
    this.finished = true;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.caller.removeEventListener('abort', this.follow);
    // What has finished gives its connection back instead.
    if (!this.finished) this.abort(undefined);
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.running?.stopped(reason);
  }
}

function expire(watch: Watch): void {
  watch.abort(new ApiError('upstream_timeout', 'The model server fell silent.'));
}
