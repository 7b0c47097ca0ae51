/** How far a part has come, as the state of its log keeps it. */
import { objectIn } from '../../../protocol/json/json-text.ts';
import { isRecord } from '../../../protocol/record.ts';
import { addCounts, type BatchCounts, NO_COUNTS } from '../batch.ts';

/** The result of one line, as an event of the part's log. */
export interface LineEvent {
  /** Of the part's lines, counted from 0. */
  readonly index: number;
  /** Whether it belongs to the output, and not to the errors. */
  readonly isOutput: boolean;
  /** The counts of the part, this line included. */
  readonly counts: BatchCounts;
  /** The line of the results, as it is written. */
  readonly line: string;
}

/** Knows which lines of the part are finished: all below a number, and a few beyond it. */
export class PartProgress {
  counts: BatchCounts;
  /** How many processes have begun with the part since its last result. */
  starts: number;
  private low: number;
  private readonly beyond: Set<number>;

  private constructor(low: number, beyond: readonly number[], counts: BatchCounts, starts: number) {
    this.low = low;
    this.beyond = new Set(beyond);
    this.counts = counts;
    this.starts = starts;
  }

  /** The progress in the text, which is empty before the first append. */
  static parse(state: string): PartProgress {
    const { low, beyond, counts, starts } = objectIn(state) ?? {};
    if (!Array.isArray(beyond) || !isRecord(counts)) return new PartProgress(0, [], NO_COUNTS, 0);
    // The cast: only `toString` writes these texts.
    return new PartProgress(Number(low), beyond, counts as unknown as BatchCounts, Number(starts));
  }

  toString(): string {
    const { low, beyond, counts, starts } = this;
    return JSON.stringify({ low, beyond: [...beyond], counts, starts });
  }

  isFinished(index: number): boolean {
    return index < this.low || this.beyond.has(index);
  }

  /** Notes that the line is finished. */
  finish(index: number, counts: BatchCounts): void {
    this.counts = addCounts(this.counts, counts);
    this.starts = 0;
    this.beyond.add(index);
    while (this.beyond.delete(this.low)) this.low += 1;
  }
}

/** The event in the text, which `PartRun` has written. */
export function lineEventIn(text: string): LineEvent {
  // The cast: nobody else writes into these logs.
  return JSON.parse(text) as LineEvent;
}
