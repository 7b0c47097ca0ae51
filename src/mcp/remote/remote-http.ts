/** The sockets of a connection to a remote server: through the egress guard, and what they told is kept. */
import { EgressError } from '../../egress/egress-error.ts';
import type { EgressGuard } from '../../egress/egress-guard.ts';
import { reasonOf } from '../shared/connection.ts';
import type { HttpPool } from '../shared/http-pool.ts';

/** Pools whose errors can be asked for: transports hide them behind errors of their own. */
export interface RemoteHttp {
  readonly openPool: () => HttpPool;
  /** What the guard refused to send. */
  readonly refusal: EgressError | undefined;
  /** Whether anybody answered a request. */
  readonly answered: boolean;
}

/** Opens no sockets yet. */
export function remoteHttp(openGuard: () => EgressGuard): RemoteHttp {
  let refusal: EgressError | undefined;
  let answered = false;

  function failure(error: unknown, signal: AbortSignal | null | undefined): unknown {
    if (signal?.aborted) return error;
    if (error instanceof EgressError) refusal ??= error;
    // Only in words, without the cause: event sources tell it in full, and it holds addresses.
    return new Error(reasonOf(error));
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
          answered = true;
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
    get answered() {
      return answered;
    },
  };
}
