/** What a response in the background has told: kept for a while, so that clients may leave and come back for the rest. */
import { AsyncResource } from 'node:async_hooks';
import { ApiError, type ErrorBody } from '../protocol/errors.ts';
import { type Consumer, deliver, NULL_CONSUMER, Stage } from '../streams/pull-stream.ts';
import type { Lifetime } from '../turn/lifetime.ts';

/** Characters of frames that one response keeps; of a longer one the oldest are gone. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Characters after which a reader is handed what it has: more would lie in memory for each reader that does not read. */
const PIECE = 64 * 1024;
/** How long the model waits for a reader that has stopped reading, and for all readers of a response together, in milliseconds. */
const PATIENCE_MS = 5000;
const MOST_WAITING_MS = 60_000;

/** One event; what is no event, such as a heartbeat, has the number of the event before it. */
export interface RecordedEvent<Event> {
  readonly sequence: number;
  readonly event: Event;
  /** Characters that it holds. */
  readonly size: number;
  /** Whether it repeats what the response holds anyway, so that keeping it costs little. */
  readonly isRepeated: boolean;
}

/** How one reader sees the events. */
export interface EventReader<Event> {
  /** Whether it must be given every event, from the first on. */
  readonly readsAll: boolean;
  /** What stands behind the number `after` of what the event becomes; empty where that is nothing. */
  read(event: Event, after: number): string;
  /** What ends the stream, where it has not been read. */
  end(): string;
  /** What says that the stream ends here, and why; `sequence` is the number of that. */
  fail(sequence: number, error: ErrorBody): string;
}

/** An event as it is kept; `start` is how many characters were kept before it, since the first. */
interface KeptEvent<Event> extends RecordedEvent<Event> {
  readonly start: number;
}

/** Events in the order of their sequence numbers, read by anybody from any of them on. */
export class Recording<Event> {
  private readonly mostCharacters: number;
  private events: KeptEvent<Event>[] = [];
  /** How many events are gone that stood before these. */
  private gone = 0;
  /** Characters of all events that were ever kept, but for those that repeat others. */
  private notified = 0;
  private repeated = 0;
  private isOver = false;
  private readonly pulling = new Set<Replay<Event>>();
  private readonly readers = new Set<Replay<Event>>();
  private patience = MOST_WAITING_MS;
  private catchUp = () => {};

  constructor(mostCharacters = MOST_CHARACTERS) {
    this.mostCharacters = mostCharacters;
  }

  /** Characters of all frames that are kept. */
  get size(): number {
    return this.notified - this.startOf(this.gone) + this.repeated;
  }

  /** Adds events, and wakes those who wait for them. */
  add(events: readonly RecordedEvent<Event>[]): void {
    for (const each of events) {
      this.events.push({ ...each, start: this.notified });
      if (each.isRepeated) this.repeated += each.size;
      else this.notified += each.size;
    }
    // What came last stays, however long it is: those who have read all before must be able to read it.
    if (this.notified - this.startOf(this.gone) > this.mostCharacters) this.forget(this.events.length - events.length);
    this.wake();
  }

  /** Nothing follows. */
  end(): void {
    this.isOver = true;
    this.wake();
  }

  /**
   * What stands behind the event of this number, with what is yet to come; undefined where some of it is gone. `life` ends
   * the reading, which ends it when it is over.
   */
  after(sequence: number, reader: EventReader<Event>, life?: Lifetime): Stage<string> | undefined {
    const [first] = this.events;
    if (this.gone > 0 && (reader.readsAll || (first && first.sequence > sequence + 1))) return undefined;
    const from = reader.readsAll ? 0 : this.firstAfter(sequence);
    const replay = new Replay(this, this.gone + from, { after: sequence, reader, life });
    this.readers.add(replay);
    return replay;
  }

  /** The event of this index; undefined where it is gone, or not there yet. */
  at(index: number): RecordedEvent<Event> | undefined {
    return this.events[index - this.gone];
  }

  /** Whether the event of this index was there, and is no longer. */
  isGone(index: number): boolean {
    return index < this.gone;
  }

  /** Whether there is nothing behind the event of this index, and never will be. */
  isWhole(index: number): boolean {
    return this.isOver && index === this.gone + this.events.length;
  }

  /** Has the replay `goOn` when there is more. */
  await(replay: Replay<Event>): void {
    this.pulling.add(replay);
  }

  leave(replay: Replay<Event>): void {
    this.pulling.delete(replay);
    this.readers.delete(replay);
    this.catchUp();
  }

  /**
   * Resolves when no reader is so far behind that it would soon lose what it has not read: one that reads more slowly
   * than the model writes. Undefined where none is. One that has stopped reading is waited for no longer.
   */
  readersBehind(signal: AbortSignal): Promise<void> | undefined {
    if (this.patience <= 0 || signal.aborted || !this.isSomeoneBehind()) return undefined;
    const began = performance.now();
    return new Promise((resolve) => {
      const goOn = () => {
        clearInterval(timer);
        signal.removeEventListener('abort', goOn);
        this.catchUp = () => {};
        this.patience -= performance.now() - began;
        resolve();
      };
      this.catchUp = () => this.isSomeoneBehind() || goOn();
      const isLate = () => performance.now() - began > this.patience;
      const timer = setInterval(() => (isLate() ? goOn() : this.catchUp()), PATIENCE_MS / 5).unref();
      signal.addEventListener('abort', goOn, { once: true });
    });
  }

  /** A reader has come so far. */
  progressed(): void {
    this.catchUp();
  }

  private isSomeoneBehind(): boolean {
    const since = performance.now() - PATIENCE_MS;
    const far = this.notified - this.mostCharacters / 2;
    if (this.startOf(this.gone) >= far) return false;
    for (const { index, pulledAt } of this.readers) if (pulledAt > since && this.startOf(index) < far) return true;
    return false;
  }

  /** How many characters were kept before the frame of this index; of one that is gone, before the first that is not. */
  private startOf(index: number): number {
    return this.events[Math.max(index - this.gone, 0)]?.start ?? this.notified;
  }

  private firstAfter(sequence: number): number {
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // The cast: the middle is below the length.
      if ((this.events[middle] as KeptEvent<Event>).sequence > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Lets a quarter go at once, since each time moves all that stay; at most this many frames. */
  private forget(most: number): void {
    const enough = this.notified - this.mostCharacters * 0.75;
    let count = 0;
    for (const { start, size, isRepeated } of this.events) {
      if (count === most || start >= enough) break;
      if (isRepeated) this.repeated -= size;
      count += 1;
    }
    this.events.splice(0, count);
    this.gone += count;
  }

  private wake(): void {
    const replays = [...this.pulling];
    this.pulling.clear();
    for (const replay of replays) replay.goOn();
  }
}

/**
 * One reading of a recording, as fast as it is asked. It goes on in its own client's async context, not in that of the
 * response, and ends in time though nobody asks: its lifetime then cuts the client off.
 */
class Replay<Event> extends Stage<string> {
  /** Of the event that comes next. */
  index: number;
  pulledAt = performance.now();
  private readonly recording: Recording<Event>;
  private readonly context = new AsyncResource('RECORDED_EVENTS');
  private readonly reading: Reading<Event>;
  /** Of the last event that was handed on. */
  private sequence: number;
  private consumer: Consumer<string> = NULL_CONSUMER;
  private isPulled = false;
  private isOver = false;

  constructor(recording: Recording<Event>, index: number, reading: Reading<Event>) {
    super();
    this.recording = recording;
    this.index = index;
    this.sequence = reading.after;
    this.reading = reading;
    reading.life?.signal.addEventListener('abort', this.goOn, { once: true });
  }

  pull(consumer: Consumer<string>): void {
    this.consumer = consumer;
    this.isPulled = true;
    this.pulledAt = performance.now();
    this.notify();
  }

  close(): void {
    const { life } = this.reading;
    this.isOver = true;
    this.isPulled = false;
    this.recording.leave(this);
    life?.signal.removeEventListener('abort', this.goOn);
    life?.leave();
  }

  readonly goOn = (): void => {
    if (this.isPulled) this.context.runInAsyncScope(this.notify, this);
  };

  private notify(): void {
    const { recording, reading } = this;
    if (this.isOver) return this.finishPulled();
    if (reading.life?.signal.aborted) return this.cutShort(reading.life.signal.reason);
    if (recording.isGone(this.index)) return this.cutShort(tooSlow());
    const text = this.read();
    if (text !== '') this.handOn(text);
    else if (this.isOver) this.finishPulled();
    else recording.await(this);
  }

  /** What can be read now, and the end where that is all; empty where there is nothing yet. */
  private read(): string {
    const { recording, reading } = this;
    let text = '';
    for (let next = recording.at(this.index); next && text.length < PIECE; next = recording.at(this.index)) {
      if (reading.reader.readsAll || next.sequence > reading.after)
        text += reading.reader.read(next.event, reading.after);
      this.sequence = next.sequence;
      this.index += 1;
    }
    if (!recording.isWhole(this.index)) return text;
    this.isOver = true;
    return text + reading.reader.end();
  }

  /** Says why it ends here; a client that has left has nobody to say it to. */
  private cutShort(reason: unknown): void {
    this.isOver = true;
    if (!(reason instanceof ApiError)) return this.finishPulled();
    this.handOn(this.reading.reader.fail(this.sequence + 1, reason.body));
  }

  /** What a client's side throws is not the response's to fail of. */
  private handOn(text: string): void {
    if (text === '') return this.finishPulled();
    this.isPulled = false;
    this.recording.progressed();
    deliver(this.consumer, text);
  }

  private finishPulled(): void {
    this.isPulled = false;
    this.finish(this.consumer);
  }
}

/** What one reader reads, and how long it may. */
interface Reading<Event> {
  readonly after: number;
  readonly reader: EventReader<Event>;
  readonly life: Lifetime | undefined;
}

function tooSlow(): ApiError {
  return new ApiError(
    'reader_too_slow',
    'The events that follow were read too slowly to be kept. The response itself can be retrieved.',
  );
}
