/** Puts queries in front of what is being indexed: most embeddings servers answer one request after the other. */
import type { Embedder } from '../ports/vectors/embedder.ts';

/** Work of indexing that an embedder has at a time: a query waits behind no more. */
const MAX_DOCUMENTS = 2;
/** Queries that go before waiting work, so that a steady stream of them does not end all indexing. */
const MAX_PASSING = 32;

const orders = new WeakMap<Embedder, EmbeddingOrder>();

/** The order of an embedder's work, the same for all vector stores that use it. */
export function orderFor(embedder: Embedder): EmbeddingOrder {
  const order = orders.get(embedder) ?? new EmbeddingOrder();
  orders.set(embedder, order);
  return order;
}

/** What one embedder is doing. */
class EmbeddingOrder {
  private queries = 0;
  private documents = 0;
  private passing = 0;
  private readonly waiting = new Set<() => void>();

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

  /** Begins when no query is being answered. Rejects with the signal's reason. */
  async document<Value>(work: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    await this.turn(signal);
    try {
      return await work();
    } finally {
      this.documents -= 1;
      this.startWaiting();
    }
  }

  private turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.waiting.delete(start);
        reject(signal.reason);
      };
      const start = () => {
        this.waiting.delete(start);
        this.documents += 1;
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.add(start);
      this.startWaiting();
    });
  }

  private startWaiting(): void {
    for (const start of this.waiting) {
      const isPassed = this.passing >= MAX_PASSING;
      if (this.documents >= MAX_DOCUMENTS || (this.queries > 0 && !isPassed)) return;
      this.passing = 0;
      start();
    }
  }
}
