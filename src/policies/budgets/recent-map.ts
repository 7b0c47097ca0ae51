/** A map of bounded size that drops its least recently used entries, in constant time and without a timer. */

/** Keeps the most recently used entries: at least half of `maxSize`, at most `maxSize`. */
export class RecentMap<Value> {
  private readonly maxSize: number;
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();

  constructor(maxSize: number) {
    this.maxSize = maxSize;
  }

  get(key: string): Value | undefined {
    const value = this.young.get(key) ?? this.old.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.young.set(key, value);
    if (this.young.size < this.maxSize / 2) return;
    this.old = this.young;
    this.young = new Map();
  }
}
