/** Writes the results of a part into its event log: those that arrive during one append go with the next. */
import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '../../../ports/background/event-log.ts';
import type { ResponseKey } from '../../../ports/store.ts';

/** A log that this process has claimed. */
interface OwnLog {
  readonly log: EventLog;
  readonly key: ResponseKey;
  readonly epoch: number;
  /** The number of the next event. */
  readonly next: number;
  /** The part's progress with every event that was given to `append`. */
  readonly state: () => string;
  /** Receives failures of the store: the append is tried again. */
  readonly onError: (error: unknown) => void;
  /** Called once the log belongs to another process. */
  readonly onLost: () => void;
  /** Aborted when the part stops here: what cannot be kept soon after is given up. */
  readonly signal: AbortSignal;
}

const RETRY_MS = 1000;
/** Attempts of an append once the part stops. */
const LAST_TRIES = 3;

/** The log of one part. */
export class PartLog {
  private readonly own: OwnLog;
  private readonly pending: string[] = [];
  private next: number;
  private writing: Promise<void> | undefined;
  private isLost = false;

  constructor(own: OwnLog) {
    this.own = own;
    this.next = own.next;
  }

  /** Resolves once the event is kept, or the log is lost. Rejects if it was given up, as do all calls from then on. */
  async append(event: string): Promise<void> {
    this.pending.push(event);
    this.writing ??= this.writeAll();
    await this.writing;
  }

  /** Ends the log after its last event; false if it is lost. Rejects likewise. */
  async end(until: number): Promise<boolean> {
    await this.writing;
    return !this.isLost && this.write([], until);
  }

  /** Keeps the progress without a result; false if the log is lost. Rejects likewise. */
  keepState(): Promise<boolean> {
    return this.write([], undefined);
  }

  private async writeAll(): Promise<void> {
    while (this.pending.length > 0 && !this.isLost) await this.write(this.pending.splice(0), undefined);
    // At once, and not when the promise settles: an event that came in between would wait for ever.
    this.writing = undefined;
  }

  private async write(events: readonly string[], endsUntil: number | undefined): Promise<boolean> {
    const { log, key, epoch, state, onError, onLost, signal } = this.own;
    const append = { epoch, from: this.next, events, state: state(), endsUntil };
    for (let left = LAST_TRIES; ; ) {
      try {
        const isKept = await log.append(key, append);
        if (isKept) this.next += events.length;
        // Also where an append was kept whose answer was lost: whoever claims the log next finds it there.
        else this.isLost = true;
        break;
      } catch (error) {
        onError(error);
        // A server that shuts down must not wait for a store that is down, and what is answered and paid for is not given up at once.
        if (signal.aborted) left -= 1;
        if (left === 0) throw error;
        await pause(RETRY_MS, undefined, { ref: false });
      }
    }
    if (this.isLost) onLost();
    return !this.isLost;
  }
}
