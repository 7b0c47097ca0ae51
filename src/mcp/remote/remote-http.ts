/** The sockets of a connection to a remote server: through the egress guard, and what they told is kept. */
import { EgressError } from '../../egress/egress-error.ts';
import type { EgressGuard } from '../../egress/egress-guard.ts';
import { reasonOf } from '../host/connection.ts';
import type { HttpPool } from '../host/http-pool.ts';

/** Pools whose errors and statuses can be asked for: transports hide both behind errors of their own. */
export interface RemoteHttp {
  readonly openPool: () => HttpPool;
  /** What the guard refused to send. */
  readonly refusal: EgressError | undefined;
  /** The status of the first answer that was no redirect. */
  readonly status: number | undefined;
}

/** Opens no sockets yet. */
export function remoteHttp(openGuard: () => EgressGuard): RemoteHttp {
  let refusal: EgressError | undefined;
  let status: number | undefined;

  function note(response: Response): Response {
    if (response.status < 300 || response.status > 399) status ??= response.status;
    return response;
  }

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
          return note(await guard.fetch(url, init));
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
    get status() {
      return status;
    },
  };
}
