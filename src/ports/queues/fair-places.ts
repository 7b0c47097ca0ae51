/** Places for work that cannot all run at once, shared out so that no tenant can fill them, or their queue, for the others. */

import type { Linked } from './line.ts';
import { TurnQueue } from './turn-queue.ts';

/** How many may run and wait. */
interface PlaceLimits {
  /** Work at the same time. */
  readonly places: number;
  /** Work that waits for a place, of all tenants. */
  readonly waiting: number;
}

/** Work that waits for a place. */
interface Waiting extends Linked<Waiting> {
  readonly tenant: string;
  readonly start: () => void;
}

/**
 * Of several places a tenant leaves one to the others, and it may have as much waiting as it leaves room for. Free places
 * go round between the tenants that wait.
 */
export class FairSlots {
  private readonly limits: PlaceLimits;
  private readonly queue = new TurnQueue<Waiting>();
  private readonly running = new Map<string, number>();
  private free: number;

  constructor(limits: PlaceLimits) {
    this.limits = limits;
    this.free = limits.places;
  }

  /** Whether further work of the tenant would run at once. */
  hasPlace(tenant: string): boolean {
    return this.free > 0 && this.hasRoom(tenant);
  }

  /** Whether further work of the tenant is refused. */
  isFull(tenant: string): boolean {
    const left = this.limits.waiting - this.queue.size;
    return !this.hasPlace(tenant) && this.queue.sizeOf(tenant) >= left;
  }

  /** Resolves when the work has a place, which `leave` gives back; rejects with the signal's reason. The caller asks `isFull` first. */
  enter(tenant: string, signal?: AbortSignal): Promise<void> {
    if (this.hasPlace(tenant)) {
      this.take(tenant);
      return Promise.resolve();
    }
    return new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.queue.remove(work);
        reject(signal?.reason);
      };
      const work: Waiting = {
        tenant,
        start: () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        },
      };
      this.queue.add(work);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  leave(tenant: string): void {
    const left = (this.running.get(tenant) ?? 1) - 1;
    if (left === 0) this.running.delete(tenant);
    else this.running.set(tenant, left);
    this.free += 1;
    this.queue.wake(tenant);
    const next = this.queue.next((each) => this.hasRoom(each));
    if (!next) return;
    this.take(next.tenant);
    next.start();
  }

  private hasRoom(tenant: string): boolean {
    return (this.running.get(tenant) ?? 0) < Math.max(1, this.limits.places - 1);
  }

  private take(tenant: string): void {
    this.free -= 1;
    this.running.set(tenant, (this.running.get(tenant) ?? 0) + 1);
  }
}
