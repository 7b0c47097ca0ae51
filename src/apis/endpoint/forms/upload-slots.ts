/** The running uploads: how many a tenant has, and how many bytes they have received. */
import { type Activity, activity, type Running } from '../../../engine/request/activity.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { exceedsQuota, type FileUsage, fileQuotaExceeded } from '../../../ports/files/file-store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { UploadLimits } from './form-limits.ts';

/** One upload. */
export interface UploadSlot {
  /** Aborted with an `ApiError` if the server shuts down before the upload is whole. */
  readonly signal: AbortSignal;
  /** Counts bytes that have arrived. Throws `file_quota_exceeded` if the tenant would have too many. */
  count(bytes: number, stored: FileUsage): void;
  /** Stops counting its bytes: they are stored, or removed. */
  end(): void;
}

interface Tally {
  uploads: number;
  bytes: number;
}

/** Uploads wait for no place: a tenant's number is counted here. */
const NO_QUEUE = {
  concurrentTurns: Number.POSITIVE_INFINITY,
  concurrentTurnsPerTenant: Number.POSITIVE_INFINITY,
  queuedTurns: 0,
  queueTimeoutMs: 1,
};

/** The running uploads of one router, by tenant: they take room before they are stored. */
export class UploadSlots {
  private readonly tenants = new Map<string, Tally>();
  private readonly limits: UploadLimits;
  private readonly activity = activity(NO_QUEUE);

  constructor(limits: UploadLimits) {
    this.limits = limits;
  }

  /** How many run. */
  get running(): number {
    return this.activity.running;
  }

  /** Refuses new ones, and resolves when none is running. */
  readonly drain: Activity['drain'] = (options) => this.activity.drain(options);

  /** Throws `too_many_uploads` and `server_draining`. */
  begin({ scope, disconnect }: Pick<EndpointRequest, 'scope' | 'disconnect'>): UploadSlot {
    const tally = this.tenants.get(scope) ?? { uploads: 0, bytes: 0 };
    if (tally.uploads >= this.limits.uploads) {
      const message = 'Too many files are being uploaded at once. Try again later.';
      throw new ApiError('too_many_uploads', message, { headers: { 'retry-after': '1' } });
    }
    const stop = new AbortController();
    const abort = (reason: ApiError) => stop.abort(reason);
    const upload: Running = { tenant: scope, signal: stop.signal, abort, disconnect, isPatient: false };
    void this.activity.begin(upload);
    tally.uploads += 1;
    this.tenants.set(scope, tally);
    return this.openSlot(tally, upload);
  }

  private openSlot(tally: Tally, upload: Running): UploadSlot {
    const { files, tenantBytes } = this.limits;
    let own = 0;
    return {
      signal: upload.signal,
      count(bytes, stored) {
        own += bytes;
        tally.bytes += bytes;
        const quota = { files, bytes: tenantBytes };
        // Counted apart from stored files: an upload that has just been stored would count twice.
        if (exceedsQuota(stored, own, quota) || exceedsQuota({ files: 0, bytes: 0 }, tally.bytes, quota))
          throw fileQuotaExceeded(quota);
      },
      end: () => {
        tally.uploads -= 1;
        tally.bytes -= own;
        own = 0;
        this.activity.end(upload);
        if (tally.uploads === 0) this.tenants.delete(upload.tenant);
      },
    };
  }
}
