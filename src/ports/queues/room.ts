/** What many hold together: where it is too much, the tenant that holds most of it loses some. */
import { limitScope } from '../scope.ts';

/** One that holds something, such as the memory of a connection. */
export interface MemoryHolder {
  readonly scope: string;
  /** Lets go of the oldest that it holds, and reports what is left. */
  forgetOldest(): void;
}

/** The bytes that the members hold. */
export class MemoryBudget {
  private readonly most: number;
  private readonly held = new Map<MemoryHolder, number>();
  private bytes = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** Reports what a member holds now. */
  hold(member: MemoryHolder, bytes: number): void {
    this.bytes += bytes - (this.held.get(member) ?? 0);
    if (bytes > 0) this.held.set(member, bytes);
    else this.held.delete(member);
  }

  /** Makes members let go until they hold no more than that. */
  makeRoom(most = this.most): void {
    while (this.bytes > most && this.held.size > 0) this.largest()?.forgetOldest();
  }

  /** The member that holds most, of the tenant that does: one with many members takes nothing from the others. */
  private largest(): MemoryHolder | undefined {
    const tenants = new Map<string, number>();
    for (const [{ scope }, bytes] of this.held)
      tenants.set(limitScope(scope), (tenants.get(limitScope(scope)) ?? 0) + bytes);
    let largest: MemoryHolder | undefined;
    let most: readonly [ofTenant: number, ofMember: number] = [-1, -1];
    for (const [member, bytes] of this.held) {
      const ofTenant = tenants.get(limitScope(member.scope)) ?? 0;
      if (ofTenant < most[0] || (ofTenant === most[0] && bytes <= most[1])) continue;
      largest = member;
      most = [ofTenant, bytes];
    }
    return largest;
  }
}
