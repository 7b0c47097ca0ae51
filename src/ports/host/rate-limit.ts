/** Bounds how often the same kind of line is written. */

/** At most one line of each code in this time, in milliseconds. */
const EVERY_MS = 1000;
/** Codes may be any text from a model server: those past this number count as one. */
const MOST_CODES = 64;

interface Shown {
  /** On the clock of `performance.now()`. */
  at: number;
  suppressed: number;
}

/** One line a second of each code. */
export class RateLimit {
  private readonly byCode = new Map<string, Shown>();

  /** How many lines of this code were left out since the last one; undefined if this one is to be left out too. */
  take(code: string): number | undefined {
    const shown = this.shownOf(code);
    const now = performance.now();
    if (now - shown.at < EVERY_MS) {
      shown.suppressed += 1;
      return undefined;
    }
    const { suppressed } = shown;
    shown.at = now;
    shown.suppressed = 0;
    return suppressed;
  }

  private shownOf(code: string): Shown {
    const name = this.byCode.has(code) || this.byCode.size < MOST_CODES ? code : 'others';
    const shown = this.byCode.get(name) ?? { at: Number.NEGATIVE_INFINITY, suppressed: 0 };
    this.byCode.set(name, shown);
    return shown;
  }
}
