/** The turns that are running: how many are allowed, and how they end when the host shuts down. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../../protocol/errors.ts';

/** How long failed streams have to reach their clients after the deadline, in milliseconds. */
const GRACE_MS = 1000;
const IDLE_CHECK_MS = 50;
/** How long running turns have to finish by default, in milliseconds. */
export const DRAIN_MS = 30_000;

/** A running turn. */
export interface Running {
  readonly abort: (reason: ApiError) => void;
  readonly disconnect: (() => void) | undefined;
}

/** The host's options for a shutdown. */
export interface DrainOptions {
  /** Milliseconds that running turns have to finish. Default: 30,000. */
  readonly timeoutMs?: number;
  /** The host's HTTP server, whose idle connections are closed during the shutdown. Default: none. */
  readonly server?: {
    /** As Node's HTTP servers have it. */
    closeIdleConnections?(): void;
  };
}

export interface Activity {
  /** Registers a turn; returns a function that registers its end. Throws `too_many_streams` or `server_draining`. */
  begin(turn: Running): () => void;
  readonly running: number;
  /** Refuses new turns and resolves when none is running: finished, failed at the deadline, or cut off. */
  drain(options?: DrainOptions): Promise<void>;
}

/** The turns of one router; `limit` is the maximum that run at once. */
export function activity(limit: number): Activity {
  const turns = new Set<Running>();
  let draining = false;

  const untilIdle = async (deadline: number, server: DrainOptions['server']) => {
    while (turns.size > 0 && Date.now() < deadline) {
      server?.closeIdleConnections?.();
      await sleep(IDLE_CHECK_MS);
    }
  };

  return {
    begin(turn) {
      if (draining) throw drainError();
      if (turns.size >= limit)
        throw new ApiError('too_many_streams', 'Too many concurrent responses. Try again later.');
      turns.add(turn);
      return () => void turns.delete(turn);
    },
    get running() {
      return turns.size;
    },
    async drain({ timeoutMs = DRAIN_MS, server } = {}) {
      draining = true;
      await untilIdle(Date.now() + timeoutMs, server);
      for (const turn of turns) turn.abort(drainError());
      await untilIdle(Date.now() + GRACE_MS, server);
      for (const turn of turns) turn.disconnect?.();
      server?.closeIdleConnections?.();
    },
  };
}

function drainError(): ApiError {
  return new ApiError('server_draining', 'This server is shutting down; try again.', {
    headers: { connection: 'close' },
  });
}
