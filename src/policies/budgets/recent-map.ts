/** A map of bounded size that drops its least recently used entries, in constant time and without a timer. */

/** Keeps the most recently used entries: at least half of `most`, at most `most`. */
export class RecentMap<Value> {
  private readonly most: number;
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();

  constructor(most: number) {
    this.most = most;
  }

  get(key: string): Value | undefined {
    const value = this.young.get(key) ?? this.old.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.young.set(key, value);
    if (this.young.size < this.most / 2) return;
    this.old = this.young;
    this.young = new Map();
  }
}
