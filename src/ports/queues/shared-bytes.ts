/** Memory that many tenants use for a moment, shared out so that none of them can fill it for the others. */
import { MemoryBudget, type MemoryHolder } from './room.ts';

/** What is held: bytes that somebody still needs, and bytes that are let go where those need room. */
export class SharedBytes {
  /** Of the shares whose tenant had to be known. */
  private readonly tenants = new Map<string, number>();
  /**
   * The shares whose tenant is not known yet. Not a `Set`: one that many enter and leave is copied all the time, each copy
   * leads to the next, and with them everything that was ever in it stays until V8's next full collection.
   */
  private readonly others: ByteShare[] = [];
  private readonly spare = new MemoryBudget(Number.POSITIVE_INFINITY);
  private bytes = 0;

  /** A part of the memory for one piece of work, empty until it grows. `tenant` is called where there is little room, at most once. */
  share(tenant: () => string): ByteShare {
    return new ByteShare(this, tenant);
  }

  /**
   * Counts further bytes of a share; false if they do not fit. Beside its other work a tenant may have as much as it
   * leaves free, so that a newcomer finds room; for one alone there is the whole.
   */
  grow(share: ByteShare, more: number, most: number): boolean {
    const after = this.bytes + more;
    const isCrowded = after + this.bytes - share.size > most;
    if (isCrowded && after + this.heldBy(share.tenant) - share.size > most) return false;
    this.bytes = after;
    if (share.isCounted) this.count(share.tenant, more);
    else if (share.place < 0) share.place = this.others.push(share) - 1;
    this.spare.makeRoom(most - this.bytes);
    return true;
  }

  free(share: ByteShare): void {
    this.bytes -= share.size;
    if (share.isCounted) this.count(share.tenant, -share.size);
    else this.leave(share);
  }

  /** The last one takes the place of the one that leaves. */
  private leave(share: ByteShare): void {
    const last = this.others.pop();
    if (last && last !== share) {
      this.others[share.place] = last;
      last.place = share.place;
    }
    share.place = -1;
  }

  /** Counts bytes that may be let go; 0 for no longer any. */
  holdSpare(member: MemoryHolder, bytes: number, most: number): void {
    this.spare.hold(member, bytes);
    this.spare.makeRoom(most - this.bytes);
  }

  private heldBy(tenant: string): number {
    for (const share of this.others) {
      share.isCounted = true;
      share.place = -1;
      this.count(share.tenant, share.size);
    }
    this.others.splice(0);
    return this.tenants.get(tenant) ?? 0;
  }

  private count(tenant: string, more: number): void {
    const held = (this.tenants.get(tenant) ?? 0) + more;
    if (held > 0) this.tenants.set(tenant, held);
    else this.tenants.delete(tenant);
  }
}

/** What one piece of work holds. */
export class ByteShare {
  /** Whether it is among the bytes of its tenant. */
  isCounted = false;
  /** Its place among those whose tenant is not known; -1 for none. */
  place = -1;
  private readonly all: SharedBytes;
  private readonly tenantOf: () => string;
  private known: string | undefined = undefined;
  private bytes = 0;

  constructor(all: SharedBytes, tenant: () => string) {
    this.all = all;
    this.tenantOf = tenant;
  }

  get size(): number {
    return this.bytes;
  }

  get tenant(): string {
    this.known ??= this.tenantOf();
    return this.known;
  }

  /** Makes it at least so many bytes; false if they do not fit into `most`, beside all others. */
  growTo(bytes: number, most: number): boolean {
    const more = bytes - this.bytes;
    if (more <= 0) return true;
    if (!this.all.grow(this, more, most)) return false;
    this.bytes = bytes;
    return true;
  }

  /** Gives everything back. May be called twice. */
  end(): void {
    if (this.bytes > 0) this.all.free(this);
    this.bytes = 0;
    this.isCounted = false;
  }
}
