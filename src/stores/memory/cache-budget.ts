/** The memory of a memory store: caches under one limit of bytes; the oldest values of the tenant that has most are dropped first. */
import { type Linked, LinkedQueue } from '../../ports/queues/line.ts';
import { TenantShares } from './tenant-shares.ts';

/** The size of a value, and its expiry. */
interface EntryTerms {
  /** The name of the value in errors. */
  readonly id: string;
  /** Whose value it is. */
  readonly tenant: string;
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
  private shares = new TenantShares();
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
    this.shares = new TenantShares();
    this.bytes = 0;
  }

  checkFits({ id, bytes }: EntryTerms): void {
    const { maxBytes } = this;
    if (bytes > maxBytes) throw new Error(`memoryStore: ${id} takes ${bytes} bytes, more than maxBytes, ${maxBytes}`);
  }

  /** Counts the value's bytes, and returns its rank. */
  add({ tenant, bytes }: EntryTerms): number {
    this.bytes += bytes;
    this.shares.add(tenant, bytes);
    this.changes += 1;
    return this.changes;
  }

  remove({ tenant, bytes }: Pick<EntryTerms, 'tenant' | 'bytes'>): void {
    this.bytes -= bytes;
    this.shares.add(tenant, -bytes);
  }

  /** Whether the value was put last: it never makes room for itself. */
  isNewest(entry: CacheEntry<unknown> | undefined): boolean {
    return entry?.rank === this.changes;
  }

  makeRoom(): void {
    const time = this.now();
    for (const cache of this.caches) cache.trim(time);
    while (this.bytes > this.maxBytes) {
      const tenant = this.shares.largest();
      const own = this.caches.map((cache) => cache.oldest(tenant));
      const entries = own.every((entry) => !entry || this.isNewest(entry))
        ? this.caches.map((cache) => cache.oldest())
        : own;
      // From the cache whose oldest value has gone unchanged for the longest.
      const ranks = entries.map((entry) => entry?.rank ?? Number.POSITIVE_INFINITY);
      const place = ranks.indexOf(Math.min(...ranks));
      this.caches[place]?.drop(entries[place]);
    }
  }
}

/** The place of a value among those of its tenant. */
interface TenantPlace<Value> extends Linked<TenantPlace<Value>> {
  readonly entry: CacheEntry<Value>;
}

/** A value in a cache. */
class CacheEntry<Value> implements Linked<CacheEntry<Value>> {
  readonly key: string;
  readonly value: Value;
  readonly tenant: string;
  readonly bytes: number;
  readonly expiresAt: number;
  /** The number of changes before it; shows which of two caches has the oldest value. */
  readonly rank: number;
  readonly place: TenantPlace<Value> = { entry: this };
  line: object | undefined;
  before: CacheEntry<Value> | undefined;
  after: CacheEntry<Value> | undefined;

  constructor(key: string, value: Value, { tenant, bytes, expiresAt }: EntryTerms, rank: number) {
    this.key = key;
    this.value = value;
    this.tenant = tenant;
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
  /** The same values by tenant. */
  private readonly tenants = new Map<string, LinkedQueue<TenantPlace<Value>>>();
  private shares = new TenantShares();

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
    this.drop(found);
    return undefined;
  }

  put(key: string, value: Value, terms: EntryTerms): void {
    this.budget.checkFits(terms);
    const earlier = this.values.get(key);
    if (earlier) this.drop(earlier);
    const entry = new CacheEntry(key, value, terms, this.budget.add(terms));
    this.values.set(key, entry);
    this.order.add(entry);
    const own = this.tenants.get(terms.tenant) ?? new LinkedQueue<TenantPlace<Value>>();
    this.tenants.set(terms.tenant, own);
    own.add(entry.place);
    this.shares.add(terms.tenant, 1);
    this.budget.makeRoom();
  }

  remove(key: string): boolean {
    const found = this.values.get(key);
    if (!found) return false;
    this.drop(found);
    return found.expiresAt > this.budget.now();
  }

  clear(): void {
    this.values.clear();
    this.order = new LinkedQueue();
    this.tenants.clear();
    this.shares = new TenantShares();
  }

  /** Drops the values at the oldest end that expired, and those beyond the limit. */
  trim(time: number): void {
    const { order, maxValues } = this;
    for (let { first } = order; first && first.expiresAt <= time; { first } = order) this.drop(first);
    while (order.size > maxValues) {
      const own = this.oldest(this.shares.largest());
      this.drop(this.budget.isNewest(own) ? order.first : own);
    }
  }

  /** The oldest value, of the tenant alone where there is one. */
  oldest(tenant?: string): CacheEntry<Value> | undefined {
    return tenant === undefined ? this.order.first : this.tenants.get(tenant)?.first?.entry;
  }

  drop(entry: CacheEntry<Value> | undefined): void {
    if (!entry) return;
    const { tenant, key, place } = entry;
    this.budget.remove(entry);
    this.values.delete(key);
    this.order.remove(entry);
    const own = this.tenants.get(tenant);
    own?.remove(place);
    if (own?.size === 0) this.tenants.delete(tenant);
    this.shares.add(tenant, -1);
  }
}
