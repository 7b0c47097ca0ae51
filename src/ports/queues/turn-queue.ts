/** The turns that wait for a place: each tenant has a queue of its own, and free places go round between the tenants. */

import { type Linked, LinkedQueue } from './line.ts';

/** A turn that waits. */
interface Queued<Turn> extends Linked<Turn> {
  readonly tenant: string;
}

/** The turns of one tenant that wait. */
interface TenantQueue<Turn extends Linked<Turn>> extends Linked<TenantQueue<Turn>> {
  readonly tenant: string;
  readonly turns: LinkedQueue<Turn>;
  isReady: boolean;
}

/** All turns that wait. Each operation takes constant time, however many turns and tenants there are. */
export class TurnQueue<Turn extends Queued<Turn>> {
  /** How many turns wait. */
  size = 0;
  private readonly queues = new Map<string, TenantQueue<Turn>>();
  /** The tenants that may have the next free place, in their order. */
  private readonly ready = new LinkedQueue<TenantQueue<Turn>>();

  /** How many turns of the tenant wait. */
  sizeOf(tenant: string): number {
    return this.queues.get(tenant)?.turns.size ?? 0;
  }

  add(turn: Turn): void {
    const queue = this.queues.get(turn.tenant) ?? this.newQueue(turn.tenant);
    queue.turns.add(turn);
    this.size += 1;
  }

  remove(turn: Turn): void {
    const queue = this.queues.get(turn.tenant);
    if (!queue) return;
    queue.turns.remove(turn);
    this.size -= 1;
    if (queue.turns.size > 0) return;
    this.queues.delete(turn.tenant);
    if (queue.isReady) this.ready.remove(queue);
  }

  /** Takes the next turn from the queue. A tenant without room for its first turn is passed over until `wake`. */
  next(hasRoom: (tenant: string, first: Turn) => boolean): Turn | undefined {
    for (let queue = this.ready.first; queue; queue = this.ready.first) {
      const turn = queue.turns.first;
      this.ready.remove(queue);
      queue.isReady = turn !== undefined && hasRoom(queue.tenant, turn);
      if (!turn || !queue.isReady) continue;
      this.ready.add(queue);
      this.remove(turn);
      return turn;
    }
    return undefined;
  }

  /** Lets a tenant take part again after one of its turns has ended. */
  wake(tenant: string): void {
    const queue = this.queues.get(tenant);
    if (queue && !queue.isReady) this.makeReady(queue);
  }

  *[Symbol.iterator](): Iterator<Turn> {
    for (const { turns } of this.queues.values()) yield* turns.all();
  }

  private newQueue(tenant: string): TenantQueue<Turn> {
    const queue = { tenant, turns: new LinkedQueue<Turn>(), isReady: false };
    this.queues.set(tenant, queue);
    this.makeReady(queue);
    return queue;
  }

  private makeReady(queue: TenantQueue<Turn>): void {
    queue.isReady = true;
    this.ready.add(queue);
  }
}
