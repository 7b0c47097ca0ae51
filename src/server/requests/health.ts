/** The last failures and successes that a router has seen, for its status. */

import { readCauseCode } from '../../ports/host/cause-code.ts';
import { errorCodeName, isHostProblem } from '../../ports/host/error-warning.ts';
import type { ResponseStore } from '../../ports/store.ts';
import type { ApiError } from '../../protocol/errors.ts';
import { mapMaybePromise } from '../../protocol/record.ts';

/** A failure, without any text of others. */
export interface Failure {
  /** As in docs/errors.md. */
  readonly code: string;
  /** The system's or the driver's own code, such as `ECONNREFUSED`. */
  readonly cause: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A failure counts for this long, in milliseconds: a server that receives no requests for it could not recover. */
const COUNTS_MS = 60_000;

/** What one part last did. */
export class PartHealth {
  lastError: Failure | null = null;
  lastSuccessAt: number | null = null;

  succeeded(): void {
    this.lastSuccessAt = Date.now();
  }

  failed(error: ApiError): void {
    this.lastError = { code: errorCodeName(error), cause: readCauseCode(error.cause) ?? null, at: Date.now() };
  }

  /** Whether it failed within the last minute and has not succeeded since. */
  get isFailing(): boolean {
    if (!this.lastError || Date.now() - this.lastError.at > COUNTS_MS) return false;
    return this.lastSuccessAt === null || this.lastError.at > this.lastSuccessAt;
  }
}

/** The parts of a router that may fail. */
export class RouterHealth {
  readonly upstream = new PartHealth();
  readonly store = new PartHealth();

  noteError(error: ApiError): void {
    if (error.code === 'store_error') this.store.failed(error);
    // Upstreams of the host's own may give no server.
    else if (isHostProblem(error) && (error.server !== undefined || error.code.startsWith('upstream_')))
      this.upstream.failed(error);
  }
}

/** The same store, whose last write the status shows. A read may succeed where a write fails, as on a full disk; failures are noted where they are reported. */
export function watchedStore(store: ResponseStore, health: PartHealth): ResponseStore {
  const wrote = () => health.succeeded();
  return { ...store, put: (response) => mapMaybePromise(store.put(response), wrote) };
}
