/** The memory of a memory store: values on shelves under one limit of bytes; the oldest are dropped first. */

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

interface Kept<Value> extends Terms {
  readonly value: Value;
  /** The number of changes before it; shows which of two shelves has the oldest value. */
  readonly rank: number;
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
    for (const shelf of this.shelves) shelf.trim();
    while (this.bytes > this.maxBytes) oldestOf(this.shelves)?.dropOldest();
  }
}

class MemoryShelf<Value> implements Shelf<Value> {
  private readonly room: MemoryRoom;
  private readonly maxValues: number;
  // A Map keeps insertion order, so its first entry is the oldest.
  private readonly values = new Map<string, Kept<Value>>();
  private readonly oldest = frontOf(this.values);

  constructor(room: MemoryRoom, maxValues: number) {
    this.room = room;
    this.maxValues = maxValues;
  }

  get size(): number {
    return this.values.size;
  }

  find(key: string): Value | undefined {
    const found = this.values.get(key);
    if (found && found.expiresAt > this.room.now()) return found.value;
    this.remove(key);
    return undefined;
  }

  keep(key: string, value: Value, terms: Terms): void {
    this.room.checkFits(terms);
    this.remove(key);
    this.values.set(key, { value, rank: this.room.add(terms.bytes), ...terms });
    this.room.makeRoom();
  }

  drop(key: string): boolean {
    return this.find(key) !== undefined && this.remove(key);
  }

  clear(): void {
    this.values.clear();
  }

  /** Drops values that expired or exceed the limits, from the oldest end. */
  trim(): void {
    const time = this.room.now();
    for (let front = this.oldest(); front; front = this.oldest()) {
      const [key, { expiresAt }] = front;
      if (expiresAt > time && this.values.size <= this.maxValues) return;
      this.remove(key);
    }
  }

  dropOldest(): void {
    this.remove(this.oldest()?.[0] ?? '');
  }

  oldestRank(): number {
    return this.oldest()?.[1].rank ?? Number.POSITIVE_INFINITY;
  }

  private remove(key: string): boolean {
    this.room.remove(this.values.get(key)?.bytes ?? 0);
    return this.values.delete(key);
  }
}

/** The shelf whose oldest value has gone unchanged for the longest. */
function oldestOf(shelves: readonly MemoryShelf<unknown>[]): MemoryShelf<unknown> | undefined {
  return shelves.toSorted((one, other) => one.oldestRank() - other.oldestRank())[0];
}

/**
 * Returns the oldest entry of a map repeatedly. It keeps its iterator: a new one has to pass all deleted entries
 * at the front, which in a full store nearly doubles the cost of a put.
 */
function frontOf<Value>(values: ReadonlyMap<string, Value>): () => readonly [string, Value] | undefined {
  let order = values.entries();
  let front = order.next();
  return () => {
    while (values.size > 0 && (front.done || values.get(front.value[0]) !== front.value[1])) {
      // An iterator that has reached the end stays there.
      if (front.done) order = values.entries();
      front = order.next();
    }
    return values.size > 0 ? front.value : undefined;
  };
}
