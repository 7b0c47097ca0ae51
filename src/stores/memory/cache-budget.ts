/** The memory of a memory store: caches under one limit of bytes; the oldest values are dropped first. */
import { type Linked, LinkedQueue } from '../../ports/queues/line.ts';

/** The size of a value, and its expiry. */
interface EntryTerms {
  /** The name of the value in errors. */
  readonly id: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Values of one kind by key. A key that is put again counts as the newest. */
export interface Cache<Value> {
  /** How many values there are, including expired ones that were not accessed since. */
  readonly size: number;
  find(key: string): Value | undefined;
  /** Stores the value; throws, and changes nothing, if it alone is larger than the budget. */
  put(key: string, value: Value, terms: EntryTerms): void;
  /** Returns whether there was one. */
  remove(key: string): boolean;
}

interface BudgetLimits {
  readonly maxBytes: number;
  readonly now: () => number;
}

/** The budget that several caches share. It runs no timer: expired values are dropped on access or on a put. */
export class CacheBudget {
  readonly now: () => number;
  private readonly maxBytes: number;
  private readonly caches: BoundedCache<unknown>[] = [];
  private bytes = 0;
  private changes = 0;

  constructor({ maxBytes, now }: BudgetLimits) {
    this.maxBytes = maxBytes;
    this.now = now;
  }

  /** Adds a cache for at most so many values. */
  cache<Value>(maxValues = Number.POSITIVE_INFINITY): Cache<Value> {
    const cache = new BoundedCache<Value>(this, maxValues);
    // The cast: the budget itself never puts a value into a cache.
    this.caches.push(cache as BoundedCache<unknown>);
    return cache;
  }

  clear(): void {
    for (const cache of this.caches) cache.clear();
    this.bytes = 0;
  }

  checkFits({ id, bytes }: EntryTerms): void {
    const { maxBytes } = this;
    if (bytes > maxBytes) throw new Error(`memoryStore: ${id} takes ${bytes} bytes, more than maxBytes, ${maxBytes}`);
  }

  /** Counts the value's bytes, and returns its rank. */
  add(bytes: number): number {
    this.bytes += bytes;
    this.changes += 1;
    return this.changes;
  }

  remove(bytes: number): void {
    this.bytes -= bytes;
  }

  makeRoom(): void {
    const time = this.now();
    for (const cache of this.caches) cache.trim(time);
    // From the cache whose oldest value has gone unchanged for the longest.
    while (this.bytes > this.maxBytes)
      this.caches.toSorted((one, other) => one.oldestRank() - other.oldestRank())[0]?.dropOldest();
  }
}

/** A value in a cache. */
class CacheEntry<Value> implements Linked<CacheEntry<Value>> {
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
  readonly expiresAt: number;
  /** The number of changes before it; shows which of two caches has the oldest value. */
  readonly rank: number;
  line: object | undefined;
  before: CacheEntry<Value> | undefined;
  after: CacheEntry<Value> | undefined;

  constructor(key: string, value: Value, { bytes, expiresAt }: EntryTerms, rank: number) {
    this.key = key;
    this.value = value;
    this.bytes = bytes;
    this.expiresAt = expiresAt;
    this.rank = rank;
  }
}

class BoundedCache<Value> implements Cache<Value> {
  private readonly budget: CacheBudget;
  private readonly maxValues: number;
  private readonly values = new Map<string, CacheEntry<Value>>();
  /** Oldest first. */
  private order = new LinkedQueue<CacheEntry<Value>>();

  constructor(budget: CacheBudget, maxValues: number) {
    this.budget = budget;
    this.maxValues = maxValues;
  }

  get size(): number {
    return this.order.size;
  }

  find(key: string): Value | undefined {
    const found = this.values.get(key);
    if (!found) return undefined;
    if (found.expiresAt > this.budget.now()) return found.value;
    this.removeEntry(found);
    return undefined;
  }

  put(key: string, value: Value, terms: EntryTerms): void {
    this.budget.checkFits(terms);
    const earlier = this.values.get(key);
    if (earlier) this.removeEntry(earlier);
    const entry = new CacheEntry(key, value, terms, this.budget.add(terms.bytes));
    this.values.set(key, entry);
    this.order.add(entry);
    this.budget.makeRoom();
  }

  remove(key: string): boolean {
    const found = this.values.get(key);
    if (!found) return false;
    this.removeEntry(found);
    return found.expiresAt > this.budget.now();
  }

  clear(): void {
    this.values.clear();
    this.order = new LinkedQueue();
  }

  /** Drops values that expired or exceed the limits, from the oldest end. */
  trim(time: number): void {
    const { order, maxValues } = this;
    for (let oldest = order.first; oldest; oldest = order.first) {
      if (oldest.expiresAt > time && order.size <= maxValues) return;
      this.removeEntry(oldest);
    }
  }

  dropOldest(): void {
    if (this.order.first) this.removeEntry(this.order.first);
  }

  oldestRank(): number {
    return this.order.first?.rank ?? Number.POSITIVE_INFINITY;
  }

  private removeEntry(entry: CacheEntry<Value>): void {
    this.budget.remove(entry.bytes);
    this.values.delete(entry.key);
    this.order.remove(entry);
  }
}
