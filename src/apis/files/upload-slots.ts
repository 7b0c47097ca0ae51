/** The running uploads: how many a tenant has, and how many bytes they have received. */
import { exceedsQuota, type FileUsage, fileQuotaExceeded } from '../../ports/files/file-store.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { FileLimits } from './limits.ts';

/** One upload. */
export interface UploadSlot {
  /** Counts bytes that have arrived. Throws `file_quota_exceeded` if the tenant would have too many. */
  count(bytes: number, stored: FileUsage): void;
  /** Stops counting its bytes: they are stored, or removed. */
  end(): void;
}

interface Tally {
  uploads: number;
  bytes: number;
}

/** The running uploads of one router, by tenant: they take room before they are stored. */
export class UploadSlots {
  private readonly tenants = new Map<string, Tally>();
  private readonly limits: FileLimits;

  constructor(limits: FileLimits) {
    this.limits = limits;
  }

  /** Throws `too_many_uploads`. */
  begin(scope: string): UploadSlot {
    const tally = this.tenants.get(scope) ?? { uploads: 0, bytes: 0 };
    if (tally.uploads >= this.limits.uploads) {
      const message = 'Too many files are being uploaded at once. Try again later.';
      throw new ApiError('too_many_uploads', message, { headers: { 'retry-after': '1' } });
    }
    tally.uploads += 1;
    this.tenants.set(scope, tally);
    return this.openSlot(scope, tally);
  }

  private openSlot(scope: string, tally: Tally): UploadSlot {
    const { files, tenantBytes } = this.limits;
    let own = 0;
    return {
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
        if (tally.uploads === 0) this.tenants.delete(scope);
      },
    };
  }
}
