/** The memory of a memory store: values on shelves under one limit of bytes; the oldest are dropped first. */
import { Line, type Linked } from '../../ports/queues/line.ts';

/** The size of a value, and its expiry. */
interface Terms {
  /** The name of the value in errors. */
  readonly id: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Values of one kind by key. A key that is put again counts as the newest. */
export interface Shelf<Value> {
  /** How many values there are, including expired ones that were not accessed since. */
  readonly size: number;
  find(key: string): Value | undefined;
  /** Stores the value; throws, and changes nothing, if it alone is larger than the room. */
  keep(key: string, value: Value, terms: Terms): void;
  /** Returns whether there was one. */
  drop(key: string): boolean;
}

/** All shelves together. */
interface Room {
  /** Adds a shelf for at most so many values. */
  shelf<Value>(maxValues?: number): Shelf<Value>;
  clear(): void;
}

/** Creates an empty room. It runs no timer: expired values are dropped on access or on a put. */
export function memoryRoom(limits: RoomLimits): Room {
  return new MemoryRoom(limits);
}

interface RoomLimits {
  readonly maxBytes: number;
  readonly now: () => number;
}

class MemoryRoom implements Room {
  readonly now: () => number;
  private readonly maxBytes: number;
  private readonly shelves: MemoryShelf<unknown>[] = [];
  private bytes = 0;
  private changes = 0;

  constructor({ maxBytes, now }: RoomLimits) {
    this.maxBytes = maxBytes;
    this.now = now;
  }

  shelf<Value>(maxValues = Number.POSITIVE_INFINITY): Shelf<Value> {
    const shelf = new MemoryShelf<Value>(this, maxValues);
    // The cast: the room itself never puts a value on a shelf.
    this.shelves.push(shelf as MemoryShelf<unknown>);
    return shelf;
  }

  clear(): void {
    for (const shelf of this.shelves) shelf.clear();
    this.bytes = 0;
  }

  checkFits({ id, bytes }: Terms): void {
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
    for (const shelf of this.shelves) shelf.trim(time);
    while (this.bytes > this.maxBytes) oldestOf(this.shelves)?.dropOldest();
  }
}

/** A value on a shelf. */
class Kept<Value> implements Linked<Kept<Value>> {
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
  readonly expiresAt: number;
  /** The number of changes before it; shows which of two shelves has the oldest value. */
  readonly rank: number;
  line: object | undefined;
  before: Kept<Value> | undefined;
  after: Kept<Value> | undefined;

  constructor(key: string, value: Value, { bytes, expiresAt }: Terms, rank: number) {
    this.key = key;
    this.value = value;
    this.bytes = bytes;
    this.expiresAt = expiresAt;
    this.rank = rank;
  }
}

class MemoryShelf<Value> implements Shelf<Value> {
  private readonly room: MemoryRoom;
  private readonly maxValues: number;
  private readonly values = new Map<string, Kept<Value>>();
  /** Oldest first. */
  private order = new Line<Kept<Value>>();

  constructor(room: MemoryRoom, maxValues: number) {
    this.room = room;
    this.maxValues = maxValues;
  }

  get size(): number {
    return this.order.size;
  }

  find(key: string): Value | undefined {
    const found = this.values.get(key);
    if (!found) return undefined;
    if (found.expiresAt > this.room.now()) return found.value;
    this.remove(found);
    return undefined;
  }

  keep(key: string, value: Value, terms: Terms): void {
    this.room.checkFits(terms);
    const earlier = this.values.get(key);
    if (earlier) this.remove(earlier);
    const kept = new Kept(key, value, terms, this.room.add(terms.bytes));
    this.values.set(key, kept);
    this.order.add(kept);
    this.room.makeRoom();
  }

  drop(key: string): boolean {
    const found = this.values.get(key);
    if (!found) return false;
    this.remove(found);
    return found.expiresAt > this.room.now();
  }

  clear(): void {
    this.values.clear();
    this.order = new Line();
  }

  /** Drops values that expired or exceed the limits, from the oldest end. */
  trim(time: number): void {
    const { order, maxValues } = this;
    for (let oldest = order.first; oldest; oldest = order.first) {
      if (oldest.expiresAt > time && order.size <= maxValues) return;
      this.remove(oldest);
    }
  }

  dropOldest(): void {
    if (this.order.first) this.remove(this.order.first);
  }

  oldestRank(): number {
    return this.order.first?.rank ?? Number.POSITIVE_INFINITY;
  }

  private remove(kept: Kept<Value>): void {
    this.room.remove(kept.bytes);
    this.values.delete(kept.key);
    this.order.remove(kept);
  }
}

/** The shelf whose oldest value has gone unchanged for the longest. */
function oldestOf(shelves: readonly MemoryShelf<unknown>[]): MemoryShelf<unknown> | undefined {
  return shelves.toSorted((one, other) => one.oldestRank() - other.oldestRank())[0];
}
