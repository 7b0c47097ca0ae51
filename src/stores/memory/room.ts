/** The room that a memory store has: values on shelves, under one bound of bytes, the oldest going first. */

/** What a value costs, and until when it is good. */
interface Terms {
  /** What an error calls the value. */
  readonly id: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Values of one kind by key. A key that is kept again counts as the newest. */
export interface Shelf<Value> {
  /** How many values there are, those included that expired and were not met since. */
  readonly size: number;
  find(key: string): Value | undefined;
  /** Keeps the value; throws, and changes nothing, where it alone is larger than the room. */
  keep(key: string, value: Value, terms: Terms): void;
  /** Whether there was one. */
  drop(key: string): boolean;
}

/** All shelves together. */
interface Room {
  /** Adds a shelf that holds at most so many values. */
  shelf<Value>(maxValues?: number): Shelf<Value>;
  clear(): void;
}

interface Kept<Value> extends Terms {
  readonly value: Value;
  /** How many changes came before it; it tells which of two shelves has the oldest. */
  readonly rank: number;
}

/** What the room asks of a shelf. */
interface Board {
  clear(): void;
  /** Drops what expired or is too much, from the oldest end. */
  trim(): void;
  dropOldest(): void;
  oldestRank(): number;
}

/** Makes an empty room. It runs no timer: what expired goes when it is met or when something is kept. */
export function memoryRoom({ maxBytes, now }: { readonly maxBytes: number; readonly now: () => number }): Room {
  const boards: Board[] = [];
  let bytes = 0;
  let changes = 0;

  function shelf<Value>(maxValues = Number.POSITIVE_INFINITY): Shelf<Value> {
    // A Map keeps the order of insertion, so its front is the oldest.
    const values = new Map<string, Kept<Value>>();
    const oldest = frontOf(values);

    function find(key: string): Value | undefined {
      const found = values.get(key);
      if (found && found.expiresAt > now()) return found.value;
      drop(key);
      return undefined;
    }

    function keep(key: string, value: Value, terms: Terms): void {
      checkFits(terms);
      drop(key);
      changes += 1;
      values.set(key, { value, rank: changes, ...terms });
      bytes += terms.bytes;
      makeRoom();
    }

    function drop(key: string): boolean {
      bytes -= values.get(key)?.bytes ?? 0;
      return values.delete(key);
    }

    function trim(): void {
      const time = now();
      for (let front = oldest(); front; front = oldest()) {
        const [key, { expiresAt }] = front;
        if (expiresAt > time && values.size <= maxValues) return;
        drop(key);
      }
    }

    boards.push({
      clear: () => values.clear(),
      trim,
      dropOldest: () => void drop(oldest()?.[0] ?? ''),
      oldestRank: () => oldest()?.[1].rank ?? Number.POSITIVE_INFINITY,
    });
    return {
      get size() {
        return values.size;
      },
      find,
      keep,
      drop: (key) => find(key) !== undefined && drop(key),
    };
  }

  function checkFits({ id, bytes: size }: Terms): void {
    if (size > maxBytes) throw new Error(`memoryStore: ${id} takes ${size} bytes, more than maxBytes, ${maxBytes}`);
  }

  function makeRoom(): void {
    for (const board of boards) board.trim();
    while (bytes > maxBytes) oldestOf(boards)?.dropOldest();
  }

  function clear(): void {
    for (const board of boards) board.clear();
    bytes = 0;
  }

  return { shelf, clear };
}

/** The board whose oldest value has not been changed for the longest. */
function oldestOf(boards: readonly Board[]): Board | undefined {
  return boards.toSorted((one, other) => one.oldestRank() - other.oldestRank())[0];
}

/**
 * Answers the oldest entry of a map again and again. It remembers where it has been: a new iterator has to pass all that
 * was deleted at the front, which in a full store nearly doubles what a put takes.
 */
function frontOf<Value>(values: ReadonlyMap<string, Value>): () => readonly [string, Value] | undefined {
  let order = values.entries();
  let front = order.next();
  return () => {
    while (values.size > 0 && (front.done || values.get(front.value[0]) !== front.value[1])) {
      // An iterator that has met the end stays there.
      if (front.done) order = values.entries();
      front = order.next();
    }
    return values.size > 0 ? front.value : undefined;
  };
}
