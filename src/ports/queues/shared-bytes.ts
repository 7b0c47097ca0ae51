/** Memory that many tenants use for a moment, shared out so that none of them can fill it for the others. */
import { Room, type RoomMember } from './room.ts';

/** What is held: bytes that somebody still needs, and bytes that are let go where those need room. */
export class SharedBytes {
  private readonly tenants = new Map<string, number>();
  private readonly spare = new Room(Number.POSITIVE_INFINITY);
  private bytes = 0;

  /** A part of the memory for one piece of work of the tenant; empty until it grows. */
  share(tenant: string): ByteShare {
    return new ByteShare(this, tenant);
  }

  /**
   * Counts further bytes of a share; false if they do not fit. Beside its other work a tenant may have as much as it
   * leaves free, so that a newcomer finds room; for one alone there is the whole.
   */
  grow(tenant: string, share: number, bytes: number, most: number): boolean {
    const held = this.tenants.get(tenant) ?? 0;
    if (this.bytes + bytes + held - share > most) return false;
    this.bytes += bytes;
    this.tenants.set(tenant, held + bytes);
    this.spare.makeRoom(most - this.bytes);
    return true;
  }

  free(tenant: string, bytes: number): void {
    this.bytes -= bytes;
    const held = (this.tenants.get(tenant) ?? 0) - bytes;
    if (held > 0) this.tenants.set(tenant, held);
    else this.tenants.delete(tenant);
  }

  /** Counts bytes that may be let go; 0 for no longer any. */
  holdSpare(member: RoomMember, bytes: number, most: number): void {
    this.spare.hold(member, bytes);
    this.spare.makeRoom(most - this.bytes);
  }
}

/** What one piece of work holds. */
export class ByteShare {
  private readonly all: SharedBytes;
  private readonly tenant: string;
  private bytes = 0;

  constructor(all: SharedBytes, tenant: string) {
    this.all = all;
    this.tenant = tenant;
  }

  get size(): number {
    return this.bytes;
  }

  /** Makes it at least so many bytes; false if they do not fit into `most`, beside all others. */
  growTo(bytes: number, most: number): boolean {
    const more = bytes - this.bytes;
    if (more <= 0) return true;
    if (!this.all.grow(this.tenant, this.bytes, more, most)) return false;
    this.bytes = bytes;
    return true;
  }

  /** Gives everything back. May be called twice. */
  end(): void {
    if (this.bytes > 0) this.all.free(this.tenant, this.bytes);
    this.bytes = 0;
  }
}
