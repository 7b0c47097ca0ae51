/** The sockets of a connection to a remote server: they go through the egress guard, and their errors are kept. */
import { EgressError } from '../../egress/egress-error.ts';
import type { EgressGuard } from '../../egress/egress-guard.ts';
import { errorReason } from '../shared/connection.ts';
import type { HttpPool } from '../shared/http-pool.ts';

/** Pools that expose their errors, because transports wrap them in errors of their own. */
interface RemoteHttp {
  readonly openPool: () => HttpPool;
  /** The error of the first request that the guard refused. */
  readonly refusal: EgressError | undefined;
  /** Whether any request was answered. */
  readonly hasAnswer: boolean;
}

/** Opens no sockets yet. */
export function remoteHttp(openGuard: () => EgressGuard): RemoteHttp {
  let refusal: EgressError | undefined;
  let isAnswered = false;

  function failure(error: unknown, signal: AbortSignal | null | undefined): unknown {
    if (signal?.aborted) return error;
    if (error instanceof EgressError) refusal ??= error;
    // Only the message, without the cause: event sources report it in full, and it contains addresses.
    return new Error(errorReason(error));
  }

  function openPool(): HttpPool {
    const guard = openGuard();
    let closed = false;
    return {
      async fetch(url, init = {}) {
        // As in the pool of configured servers: this status ends attempts to reopen a stream.
        if (closed) return new Response(null, { status: 405 });
        try {
          const response = await guard.fetch(url, init);
          isAnswered = true;
          return response;
        } catch (error) {
          throw failure(error, init.signal);
        }
      },
      close() {
        closed = true;
        return guard.close();
      },
    };
  }

  return {
    openPool,
    get refusal() {
      return refusal;
    },
    get hasAnswer() {
      return isAnswered;
    },
  };
}
