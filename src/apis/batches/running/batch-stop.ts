/** Tells whoever works on a batch in this process to stop: it is cancelled, its time is over, or another process has it. */
import { MAX_MS } from '../../../ports/host/options-check.ts';
import type { Batch } from '../batch.ts';
import type { BatchRecords } from '../batch-records.ts';

/** Why the work stops. A batch that is deleted is `released`: nobody continues it. */
type StopReason = 'cancelled' | 'expired' | 'released';

/** How often the store is asked whether another process has cancelled the batch, in milliseconds. */
const LOOK_MS = 1000;

/** Aborted once; whoever made it ends it. */
export class BatchStop {
  why: StopReason | undefined;
  private readonly controller = new AbortController();
  private readonly batch: Batch;
  private readonly records: BatchRecords;
  private readonly released: AbortSignal;
  private readonly release = () => this.abort('released');
  private readonly timers: NodeJS.Timeout[] = [];
  private isLooking = false;

  constructor(batch: Batch, records: BatchRecords, released: AbortSignal) {
    this.batch = batch;
    this.records = records;
    this.released = released;
    released.addEventListener('abort', this.release, { once: true });
    if (released.aborted) this.release();
    const left = Math.max(batch.state.expiresAt - Date.now(), 0);
    this.timers.push(setTimeout(() => this.abort('expired'), Math.min(left, MAX_MS)).unref());
    this.timers.push(setInterval(() => void this.look(), LOOK_MS).unref());
    this.note(batch);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(why: StopReason): void {
    if (this.why) return;
    this.why = why;
    this.controller.abort(new Error(`The batch is ${why}.`));
  }

  /** Reads the batch again. A store that does not answer is asked again later. */
  async look(): Promise<void> {
    if (this.isLooking || this.why) return;
    this.isLooking = true;
    await this.records.find(this.batch).then(
      (batch) => this.note(batch),
      () => {},
    );
    this.isLooking = false;
  }

  end(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.released.removeEventListener('abort', this.release);
  }

  private note(batch: Batch | undefined): void {
    if (!batch) this.abort('released');
    else if (batch.state.status === 'cancelling') this.abort('cancelled');
    else if (batch.state.isLate || Date.now() >= batch.state.expiresAt) this.abort('expired');
  }
}
