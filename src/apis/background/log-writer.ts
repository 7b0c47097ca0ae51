/** Writes the events of one response to its log, a batch at a time. Nobody is shown an event before it is there. */

import { setTimeout as pause } from 'node:timers/promises';
import { type Checkpoint, turnCheckpoint } from '../../engine/turn/checkpoint.ts';
import type { TurnState } from '../../engine/turn/machine/state.ts';
import type { EventLog } from '../../ports/background/event-log.ts';
import type { ResponseKey } from '../../ports/store.ts';
import type { TurnEvent } from '../../protocol/events.ts';
import { isPromise } from '../../protocol/record.ts';
import { toolCallKind } from '../../protocol/tool-calls/kinds.ts';
import { eventText, type NumberedEvent } from './event-text.ts';

/** The shortest time between two writes to a store that is not in this process, in milliseconds. */
const BETWEEN_MS = 100;
/** Characters of unwritten events at which the model waits. */
const MAX_CHARACTERS = 1024 * 1024;
/** Milliseconds before a failed write is tried again, at first and at most. */
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 2000;
/** How long a writer that is to stop tries to write what it has, in milliseconds. */
const STOPS_WITHIN_MS = 5000;

/** The state of a log, as text in it. */
export interface LoggedState {
  /** How many processes have begun to run the response and have not handed it over. */
  readonly tries: number;
  readonly checkpoint?: Checkpoint | undefined;
}

/** One log, and the position of its end. */
export interface OpenLog {
  readonly log: EventLog;
  readonly key: ResponseKey;
  readonly epoch: number;
  readonly next: number;
  readonly state: LoggedState;
}

/** What the writer reports. */
export interface LogWriterHost {
  /** How long the events are kept after the last one, in milliseconds. */
  readonly eventsTtlMs: number;
  /** Milliseconds since the epoch: a write that fails until then is given up. */
  readonly deadline: number;
  /** Receives the events once they are written. */
  onWritten(events: readonly NumberedEvent[]): void;
  /** Called once if the log belongs to another process, has ended or is gone. */
  onLost(): void;
  /** Receives the error of a write that is tried again. */
  onError(error: unknown): void;
}

interface Batch {
  readonly events: readonly NumberedEvent[];
  readonly checkpoint: Checkpoint | undefined;
}

/** The writer of one process. */
export class LogWriter {
  private readonly place: Pick<OpenLog, 'log' | 'key' | 'epoch'>;
  private readonly host: LogWriterHost;
  private next: number;
  private state: LoggedState;
  private deadline: number;
  /** The batches that may be written, and the events that wait for the end of a call. */
  private ready: Batch[] = [];
  private held: NumberedEvent[] = [];
  /** Whether events may be written without a checkpoint: one is written, or about to be. */
  private canSplit: boolean;
  private characters = 0;
  private writing: Promise<void> | undefined;
  private isLost = false;
  private isFlushing = false;
  private failure: unknown;
  /** Ends the pause between two writes. */
  private flushNow = () => {};

  constructor({ log, key, epoch, next, state }: OpenLog, host: LogWriterHost) {
    this.place = { log, key, epoch };
    this.host = host;
    this.next = next;
    this.state = state;
    this.deadline = host.deadline;
    this.canSplit = state.checkpoint !== undefined;
  }

  /** Soon gives up what cannot be written: a process that ends must not wait for a database that is down. */
  shortenDeadline(): void {
    this.deadline = Math.min(this.deadline, Date.now() + STOPS_WITHIN_MS);
  }

  /** Takes a batch, with the state after it if there is one; resolves when the next one may be made. Rejects if writing is given up. */
  async add(batch: readonly TurnEvent[], state: TurnState | undefined): Promise<void> {
    // What was given up is missing: nothing may stand behind it.
    if (this.failure !== undefined) throw this.failure;
    const events = batch.filter((event) => 'sequence' in event);
    if (events.length === 0 || this.isLost) return;
    const torn = this.held.length === 0 && this.canSplit ? events.findIndex(opensCall) : -1;
    for (const event of events) this.count(event);
    // A call is written only once it is whole: another process could not continue it.
    const isHeld = state?.openCall !== undefined && events.at(-1)?.type !== 'turn-end';
    const before = isHeld ? events.slice(0, Math.max(torn, 0)) : [];
    // Clients need not wait for the call to read what stands before it; the last checkpoint is near enough.
    if (before.length > 0) this.ready.push({ events: before, checkpoint: undefined });
    for (const event of events.slice(before.length)) this.held.push(event);
    if (isHeld && before.length === 0) return;
    if (!isHeld) this.ready.push({ events: this.held.splice(0), checkpoint: state && turnCheckpoint(state) });
    if (!isHeld && state) this.canSplit = true;
    this.writing ??= this.write();
    if (this.characters > MAX_CHARACTERS) await this.flush();
  }

  /** Writes this state, in which no call is being written, with everything before it; returns as `flush` does. */
  async writeState(state: TurnState): Promise<boolean> {
    if (this.failure !== undefined) throw this.failure;
    this.canSplit = true;
    // The end of a call's arguments may have had no event.
    if (!this.isLost) this.ready.push({ events: this.held.splice(0), checkpoint: turnCheckpoint(state) });
    if (!this.isLost) this.writing ??= this.write();
    return this.flush();
  }

  /**
   * Resolves when everything that may be written is; returns whether the log still is this process's. Rejects if writing
   * was given up.
   */
  async flush(): Promise<boolean> {
    this.isFlushing = true;
    this.flushNow();
    await this.writing;
    this.isFlushing = false;
    if (this.failure !== undefined) throw this.failure;
    return !this.isLost;
  }

  /** Writes that this process lets go of the response, so that the try does not count. */
  async release(): Promise<void> {
    this.held = [];
    if (!(await this.flush())) return;
    await this.append([], { ...this.state, tries: this.state.tries - 1 });
  }

  private count(event: NumberedEvent): void {
    if ('text' in event) this.characters += event.text.length;
    if (event.type === 'partial-image') this.characters += event.image.result.length;
  }

  private async write(): Promise<void> {
    try {
      while (this.ready.length > 0 && !this.isLost) {
        const batches = this.ready;
        this.ready = [];
        this.characters = 0;
        const last = batches.findLast(({ checkpoint }) => checkpoint);
        const events = batches.flatMap((batch) => batch.events);
        const isNear = await this.append(events, {
          ...this.state,
          checkpoint: last?.checkpoint ?? this.state.checkpoint,
        });
        if (!isNear && !this.isFlushing && this.ready.length === 0) await this.pauseBetweenWrites();
      }
    } catch (error) {
      this.failure = error;
    } finally {
      this.writing = undefined;
    }
  }

  private pauseBetweenWrites(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, BETWEEN_MS);
      this.flushNow = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Appends until it succeeds, the log is lost or time is up. Returns whether the store answered without a promise. */
  private async append(events: readonly NumberedEvent[], state: LoggedState): Promise<boolean> {
    const { log, key, epoch } = this.place;
    const from = this.next;
    const isEnd = events.at(-1)?.type === 'turn-end';
    const endsUntil = isEnd ? Date.now() + this.host.eventsTtlMs : undefined;
    const append = { epoch, from, events: events.map(eventText), state: JSON.stringify(state), endsUntil };
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(waitMs * 2, MAX_RETRY_MS)) {
      try {
        const answer = log.append(key, append);
        if ((await answer) || (await this.isWritten(from + events.length))) this.onAppended(events, state);
        else this.onLogLost();
        return !isPromise(answer);
      } catch (error) {
        if (Date.now() + waitMs > this.deadline) throw error;
        this.host.onError(error);
        await pause(waitMs, undefined, { ref: false });
      }
    }
  }

  /** Whether a write that is refused has succeeded before: this or a database's client repeats one whose answer was lost. */
  private async isWritten(next: number): Promise<boolean> {
    const [head] = await this.place.log.heads([this.place.key]);
    return head?.epoch === this.place.epoch && head.next === next;
  }

  private onAppended(events: readonly NumberedEvent[], state: LoggedState): void {
    this.next += events.length;
    this.state = state;
    if (events.length > 0) this.host.onWritten(events);
  }

  private onLogLost(): void {
    if (this.isLost) return;
    this.isLost = true;
    this.ready = [];
    this.host.onLost();
  }
}

function opensCall(event: NumberedEvent): event is Extract<NumberedEvent, { readonly type: 'item-start' }> {
  return event.type === 'item-start' && (toolCallKind(event.item)?.runBy ?? 'upstream') !== 'upstream';
}
