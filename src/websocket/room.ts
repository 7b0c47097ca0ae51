/** What all connections of a server remember together: where it is too much, the tenant that holds most of it loses turns. */
import { shareOf } from '../ports/scope.ts';

/** The memory of one connection. */
interface Member {
  readonly scope: string;
  /** Forgets the oldest turn, and reports what is left. */
  forgetOldest(): void;
}

/** The bytes that connections hold. */
export class Room {
  private readonly most: number;
  private readonly held = new Map<Member, number>();
  private bytes = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** Reports what a connection holds now. */
  hold(member: Member, bytes: number): void {
    this.bytes += bytes - (this.held.get(member) ?? 0);
    if (bytes > 0) this.held.set(member, bytes);
    else this.held.delete(member);
  }

  makeRoom(): void {
    while (this.bytes > this.most) this.largest()?.forgetOldest();
  }

  /** The connection that holds most, of the tenant that does: one with many connections takes nothing from the others. */
  private largest(): Member | undefined {
    const tenants = new Map<string, number>();
    for (const [{ scope }, bytes] of this.held) tenants.set(shareOf(scope), (tenants.get(shareOf(scope)) ?? 0) + bytes);
    const sizeOf = (member: Member) => [tenants.get(shareOf(member.scope)) ?? 0, this.held.get(member) ?? 0] as const;
    const members = [...this.held.keys()];
    return members.reduce<Member | undefined>(
      (one, other) => (one && !isLarger(sizeOf(other), sizeOf(one)) ? one : other),
      undefined,
    );
  }
}

function isLarger(
  [tenant, own]: readonly [number, number],
  [otherTenant, otherOwn]: readonly [number, number],
): boolean {
  return tenant === otherTenant ? own > otherOwn : tenant > otherTenant;
}
