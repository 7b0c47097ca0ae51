/** Puts queries in front of what is being indexed: most embeddings servers answer one request after the other. */
import type { Linked } from '../../ports/queues/line.ts';
import { TurnQueue } from '../../ports/queues/turn-queue.ts';
import type { Embedder } from '../../ports/vectors/embedder.ts';

/** Work of indexing that an embedder has at a time, of which a tenant leaves one to the others: a query waits behind no more. */
const MAX_DOCUMENTS = 3;
/** Queries that go before waiting work, so that a steady stream of them does not end all indexing. */
const MAX_PASSING = 32;

const orders = new WeakMap<Embedder, EmbeddingOrder>();

/** The order of an embedder's work, the same for all vector stores that use it. */
export function orderFor(embedder: Embedder): EmbeddingOrder {
  const order = orders.get(embedder) ?? new EmbeddingOrder();
  orders.set(embedder, order);
  return order;
}

/** Work of indexing that waits. */
interface Waiting extends Linked<Waiting> {
  readonly tenant: string;
  readonly start: () => void;
}

/** What one embedder is doing. */
class EmbeddingOrder {
  private queries = 0;
  private documents = 0;
  private passing = 0;
  private readonly running = new Map<string, number>();
  private readonly waiting = new TurnQueue<Waiting>();

  /** Begins at once. */
  async query<Value>(work: () => Promise<Value>): Promise<Value> {
    this.queries += 1;
    if (this.waiting.size > 0) this.passing += 1;
    try {
      return await work();
    } finally {
      this.queries -= 1;
      this.startWaiting();
    }
  }

  /** Begins when no query is being answered; places go round between the tenants. Rejects with the signal's reason. */
  async document<Value>(tenant: string, work: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    await this.turn(tenant, signal);
    try {
      return await work();
    } finally {
      this.count(tenant, -1);
      this.waiting.wake(tenant);
      this.startWaiting();
    }
  }

  private turn(tenant: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting.remove(waiting);
        reject(signal.reason);
      };
      const start = () => {
        this.count(tenant, 1);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const waiting: Waiting = { tenant, start };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.add(waiting);
      this.startWaiting();
    });
  }

  private count(tenant: string, more: 1 | -1): void {
    this.documents += more;
    const running = (this.running.get(tenant) ?? 0) + more;
    if (running === 0) this.running.delete(tenant);
    else this.running.set(tenant, running);
  }

  private startWaiting(): void {
    while (this.documents < MAX_DOCUMENTS && (this.queries === 0 || this.passing >= MAX_PASSING)) {
      const next = this.waiting.next((tenant) => (this.running.get(tenant) ?? 0) < MAX_DOCUMENTS - 1);
      if (!next) return;
      this.passing = 0;
      next.start();
    }
  }
}
