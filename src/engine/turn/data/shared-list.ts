/** Persistent lists and maps: every version of a turn's state stays unchanged, and versions share what they have in common. */

/**
 * Members that are copied when one of them changes. Together with the list of blocks that is little for 65,536 members.
 */
const BLOCK = 256;

/** A list; a change returns a new list. It costs one block and the list of blocks, not all members. */
export class SharedList<Member> implements Iterable<Member> {
  readonly size: number;
  private readonly blocks: readonly (readonly Member[])[];

  constructor(blocks: readonly (readonly Member[])[] = [], size = 0) {
    this.blocks = blocks;
    this.size = size;
  }

  /** The list of these members. */
  static from<Member>(members: Iterable<Member>): SharedList<Member> {
    let list = new SharedList<Member>();
    for (const member of members) list = list.added(member);
    return list;
  }

  at(index: number): Member | undefined {
    return this.blocks[Math.floor(index / BLOCK)]?.[index % BLOCK];
  }

  /** The list with the member at this index, which is an existing one or the next. */
  with(index: number, member: Member): SharedList<Member> {
    const place = Math.floor(index / BLOCK);
    const blocks = this.blocks.slice();
    const block = blocks[place]?.slice() ?? [];
    block[index % BLOCK] = member;
    blocks[place] = block;
    return new SharedList(blocks, Math.max(this.size, index + 1));
  }

  /** The list with the member appended. */
  added(member: Member): SharedList<Member> {
    return this.with(this.size, member);
  }

  /** The members from this index on. */
  from(index: number): readonly Member[] {
    // Most lists have one block, and flattening is slow.
    if (this.size <= BLOCK) return this.blocks[0]?.slice(index) ?? [];
    const place = Math.floor(index / BLOCK);
    return this.blocks
      .slice(place)
      .flat()
      .slice(index - place * BLOCK);
  }

  [Symbol.iterator](): Iterator<Member> {
    return this.from(0)[Symbol.iterator]();
  }
}

interface Entry<Key, Value> {
  readonly key: Key;
  readonly value: Value;
}

/** A map in insertion order; a change returns a new map, at the cost of a list's. */
export class SharedMap<Key, Value> {
  readonly size: number;
  private readonly entries: SharedList<Entry<Key, Value> | undefined>;
  /**
   * Where the key may be: not part of the value, since versions share it. Each version checks whether the entry applies
   * to it; only a version that another one was derived from has to search.
   */
  readonly #places: Map<Key, number>;

  constructor(
    entries: SharedList<Entry<Key, Value> | undefined> = new SharedList<never>(),
    places: Map<Key, number> = new Map(),
    size = 0,
  ) {
    this.entries = entries;
    this.#places = places;
    this.size = size;
  }

  /** The map of these entries. */
  static from<Key, Value>(entries: Iterable<readonly [Key, Value]>): SharedMap<Key, Value> {
    let map = new SharedMap<Key, Value>();
    for (const [key, value] of entries) map = map.with(key, value);
    return map;
  }

  get(key: Key): Value | undefined {
    return this.entries.at(this.findPlace(key))?.value;
  }

  has(key: Key): boolean {
    return this.findPlace(key) >= 0;
  }

  /** The map with this value replacing the key's, or appended. */
  with(key: Key, value: Value): SharedMap<Key, Value> {
    const known = this.findPlace(key);
    if (known >= 0) return new SharedMap(this.entries.with(known, { key, value }), this.#places, this.size);
    // All empty maps share one index.
    const places = this.entries.size === 0 ? new Map<Key, number>() : this.#places;
    places.set(key, this.entries.size);
    return new SharedMap(this.entries.added({ key, value }), places, this.size + 1);
  }

  /** The map without the key. */
  without(key: Key): SharedMap<Key, Value> {
    const place = this.findPlace(key);
    if (place < 0) return this;
    if (this.size === 1) return new SharedMap();
    return new SharedMap(this.entries.with(place, undefined), this.#places, this.size - 1);
  }

  values(): readonly Value[] {
    const values: Value[] = [];
    for (const entry of this.entries) if (entry) values.push(entry.value);
    return values;
  }

  private findPlace(key: Key): number {
    const place = this.#places.get(key);
    // A key that no version has added is in none.
    if (place === undefined) return -1;
    if (this.entries.at(place)?.key === key) return place;
    return this.entries.from(0).findIndex((entry) => entry?.key === key);
  }
}
