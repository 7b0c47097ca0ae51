/** How much each tenant holds of something, and which of them holds most. */
import { type Linked, LinkedQueue } from '../../ports/queues/line.ts';

/** What one tenant holds. */
interface TenantShare extends Linked<TenantShare> {
  readonly tenant: string;
  amount: number;
}

/** The shares of all tenants, by the number of binary digits: each operation takes constant time, however many tenants there are. */
export class TenantShares {
  private readonly shares = new Map<string, TenantShare>();
  private readonly levels: LinkedQueue<TenantShare>[] = [];

  /** A positive or negative amount. */
  add(tenant: string, more: number): void {
    const share = this.shares.get(tenant) ?? { tenant, amount: 0 };
    const before = levelAt(share.amount);
    share.amount += more;
    const level = levelAt(share.amount);
    if (level === before) return;
    if (before >= 0) this.levels[before]?.remove(share);
    if (level < 0) return void this.shares.delete(tenant);
    this.shares.set(tenant, share);
    while (this.levels.length <= level) this.levels.push(new LinkedQueue());
    this.levels[level]?.add(share);
  }

  /** A tenant of which none holds twice as much or more; of several the one that has held so much for the longest. */
  largest(): string | undefined {
    for (let level = this.levels.length - 1; level >= 0; level -= 1) {
      const first = this.levels[level]?.first;
      if (first) return first.tenant;
    }
    return undefined;
  }
}

/** -1 for nothing. */
function levelAt(amount: number): number {
  return amount > 0 ? Math.floor(Math.log2(amount)) : -1;
}
