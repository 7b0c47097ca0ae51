/** The order of jobs that wait: by priorities of BullMQ's that go round between the tenants, since its groups are not free. */
import { limitScope } from '../../../ports/scope.ts';

/** BullMQ's lowest priority; jobs beyond it are in the order in which they came. */
const MAX_PRIORITY = 2 ** 21 - 1;
/** Tenants that are remembered before those are forgotten whose jobs have all begun. */
const MIN_FORGET = 1000;

/**
 * Numbers the jobs of each tenant on from the number of the job that is the next to be claimed: the first job of a tenant comes
 * behind two of each other tenant at most, however many those have, and none waits for ever. Each process numbers what it
 * submits, so that a tenant that submits to several has as many places in each round.
 */
export class FairOrder {
  private readonly last = new Map<string, number>();
  private head = 0;
  private forgetAt = MIN_FORGET;

  /** The priority of a further job; `head` is that of the next one to be claimed, undefined if none waits. */
  next(scope: string, head: number | undefined): number {
    // The numbers have begun again: those that were given are over.
    if (head === undefined || head < this.head) this.last.clear();
    this.head = head ?? 0;
    if (this.last.size >= this.forgetAt) this.forget();
    const tenant = limitScope(scope);
    const priority = Math.min(Math.max(this.head, this.last.get(tenant) ?? 0) + 1, MAX_PRIORITY);
    this.last.set(tenant, priority);
    return priority;
  }

  private forget(): void {
    for (const [tenant, priority] of this.last) if (priority <= this.head) this.last.delete(tenant);
    this.forgetAt = Math.max(MIN_FORGET, 2 * this.last.size);
  }
}
