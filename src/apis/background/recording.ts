/** Records the events of a background response for a while, so that clients may leave and come back for the rest. */
import { AsyncResource } from 'node:async_hooks';
import type { Lifetime } from '../../engine/turn/lifetime.ts';
import { ApiError, type ErrorBody } from '../../protocol/errors.ts';
import { type Consumer, deliver, NULL_CONSUMER, Stage } from '../../streams/pull-stream.ts';

/** Maximum characters of frames that one response keeps; of a longer one the oldest are dropped. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
/**
 * Characters after which a reader receives what it has: more would occupy memory for each reader that does not read.
 */
const PIECE = 64 * 1024;
/**
 * How long the model waits for a reader that has stopped reading, and for all readers of a response together, in
 * milliseconds.
 */
const PATIENCE_MS = 5000;
const MAX_WAITING_MS = 60_000;

/** One event; a heartbeat or another frame without a number has that of the event before it. */
export interface RecordedEvent<Event> {
  readonly sequence: number;
  readonly event: Event;
  /** Its number of characters. */
  readonly size: number;
  /** Whether it repeats what the response holds anyway, so that keeping it costs little. */
  readonly isRepeated: boolean;
}

/** The encoding of events for one reader. */
export interface EventReader<Event> {
  /** Whether it must receive every event, from the first on. */
  readonly readsAll: boolean;
  /** The frames of the event after the number `after`; empty if there are none. */
  read(event: Event, after: number): string;
  /** The end of the stream, if it has not been read. */
  end(): string;
  /** The frame that reports why the stream ends here; `sequence` is its number. */
  fail(sequence: number, error: ErrorBody): string;
}

/** An event as it is kept; `start` is the number of characters kept before it, since the first. */
interface StoredEvent<Event> extends RecordedEvent<Event> {
  readonly start: number;
}

/** Events in the order of their sequence numbers, readable by any number of readers from any of them on. */
export class Recording<Event> {
  private readonly maxCharacters: number;
  private events: StoredEvent<Event>[] = [];
  /** How many earlier events have been dropped. */
  private gone = 0;
  /** Characters of all events so far, those that are dropped included, except those that repeat others. */
  private kept = 0;
  private repeated = 0;
  private isOver = false;
  private readonly pulling = new Set<Replay<Event>>();
  private readonly readers = new Set<Replay<Event>>();
  private readonly listeners = new Set<() => void>();
  private patience = MAX_WAITING_MS;
  private catchUp = () => {};

  constructor(maxCharacters = MAX_CHARACTERS) {
    this.maxCharacters = maxCharacters;
  }

  /** Characters of all frames that are kept. */
  get size(): number {
    return this.kept - this.findStart(this.gone) + this.repeated;
  }

  /** Adds events, and wakes the waiting readers. */
  add(events: readonly RecordedEvent<Event>[]): void {
    for (const { sequence, event, size, isRepeated } of events) {
      // Field by field: V8 gives each copy that is made by spreading a hidden class of its own, of 200 bytes.
      this.events.push({ sequence, event, size, isRepeated, start: this.kept });
      if (isRepeated) this.repeated += size;
      else this.kept += size;
    }
    // The latest event stays, however long it is: readers that are up to date must be able to read it.
    if (this.kept - this.findStart(this.gone) > this.maxCharacters) this.forget(this.events.length - events.length);
    this.wake();
  }

  /** Ends the recording. */
  end(): void {
    this.isOver = true;
    this.wake();
  }

  /**
   * The events after this number, including future ones; undefined if some of them are dropped. `life` ends the
   * reading, which ends it when it is over.
   */
  after(sequence: number, reader: EventReader<Event>, life?: Lifetime): Stage<string> | undefined {
    const [first] = this.events;
    if (this.gone > 0 && (reader.readsAll || (first && first.sequence > sequence + 1))) return undefined;
    const from = reader.readsAll ? 0 : this.firstAfter(sequence);
    const replay = new Replay(this, this.gone + from, { after: sequence, reader, life });
    this.readers.add(replay);
    return replay;
  }

  /**
   * The next events after this number that are there, up to a piece of text; undefined if some of them are dropped, or
   * there will be no more.
   */
  eventsAfter(sequence: number): readonly Event[] | undefined {
    const [first] = this.events;
    if (!first || first.sequence > sequence + 1 || this.isOver) return undefined;
    const events: Event[] = [];
    let size = 0;
    for (let at = this.firstAfter(sequence); at < this.events.length && size < PIECE; at += 1) {
      // The cast: the index is below the length.
      const stored = this.events[at] as StoredEvent<Event>;
      events.push(stored.event);
      size += stored.size;
    }
    return events;
  }

  /** Calls the function after events are added, and at the end. Returns how to stop that. */
  onAdded(wake: () => void): () => void {
    this.listeners.add(wake);
    return () => void this.listeners.delete(wake);
  }

  /** The event with this index; undefined if it is dropped, or not there yet. */
  at(index: number): RecordedEvent<Event> | undefined {
    return this.events[index - this.gone];
  }

  /** Whether the event with this index existed and is dropped. */
  isGone(index: number): boolean {
    return index < this.gone;
  }

  /** Whether no event follows the one with this index, now or later. */
  isWhole(index: number): boolean {
    return this.isOver && index === this.gone + this.events.length;
  }

  /** Calls the replay's `resume` when there is more. */
  await(replay: Replay<Event>): void {
    this.pulling.add(replay);
  }

  leave(replay: Replay<Event>): void {
    this.pulling.delete(replay);
    this.readers.delete(replay);
    this.catchUp();
  }

  /**
   * Resolves when no reader is so far behind that it would soon lose unread events: one that reads more slowly than the
   * model writes. Undefined if there is none. A reader that has stopped reading is no longer waited for.
   */
  readersBehind(signal: AbortSignal): Promise<void> | undefined {
    if (this.patience <= 0 || signal.aborted || !this.isSomeoneBehind()) return undefined;
    const began = performance.now();
    return new Promise((resolve) => {
      const resume = () => {
        clearInterval(timer);
        signal.removeEventListener('abort', resume);
        this.catchUp = () => {};
        this.patience -= performance.now() - began;
        resolve();
      };
      this.catchUp = () => this.isSomeoneBehind() || resume();
      const isLate = () => performance.now() - began > this.patience;
      const timer = setInterval(() => (isLate() ? resume() : this.catchUp()), PATIENCE_MS / 5).unref();
      signal.addEventListener('abort', resume, { once: true });
    });
  }

  /** Records a reader's progress. */
  progressed(): void {
    this.catchUp();
  }

  private isSomeoneBehind(): boolean {
    const since = performance.now() - PATIENCE_MS;
    const far = this.kept - this.maxCharacters / 2;
    if (this.findStart(this.gone) >= far) return false;
    for (const { index, pulledAt } of this.readers) if (pulledAt > since && this.findStart(index) < far) return true;
    return false;
  }

  /**
   * How many characters were kept before the frame with this index; for a dropped one, before the first that is left.
   */
  private findStart(index: number): number {
    return this.events[Math.max(index - this.gone, 0)]?.start ?? this.kept;
  }

  private firstAfter(sequence: number): number {
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // The cast: the middle is below the length.
      if ((this.events[middle] as StoredEvent<Event>).sequence > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Drops a quarter at once, since each time moves all the remaining ones; keeps at most this many frames. */
  private forget(most: number): void {
    const enough = this.kept - this.maxCharacters * 0.75;
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
    for (const replay of replays) replay.resume();
    for (const wake of [...this.listeners]) wake();
  }
}

/**
 * One reading of a recording, as fast as it is pulled. It runs in its own client's async context, not in that of the
 * response, and ends in time even without pulls: its lifetime then closes the client's connection.
 */
class Replay<Event> extends Stage<string> {
  /** The index of the next event. */
  index: number;
  pulledAt = performance.now();
  private readonly recording: Recording<Event>;
  private readonly context = new AsyncResource('RECORDED_EVENTS');
  private readonly reading: Reading<Event>;
  /** The number of the last event that was passed on. */
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
    reading.life?.signal.addEventListener('abort', this.resume, { once: true });
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
    life?.signal.removeEventListener('abort', this.resume);
    life?.leave();
  }

  readonly resume = (): void => {
    if (this.isPulled) this.context.runInAsyncScope(this.notify, this);
  };

  private notify(): void {
    const { recording, reading } = this;
    if (this.isOver) return this.finishPulled();
    if (reading.life?.signal.aborted) return this.cutShort(reading.life.signal.reason);
    if (recording.isGone(this.index)) return this.cutShort(new ApiError('reader_too_slow', TOO_SLOW));
    const text = this.read();
    if (text !== '') this.handOn(text);
    else if (this.isOver) this.finishPulled();
    else recording.await(this);
  }

  /** The frames that can be read now, and the end if those are all; empty if there are none yet. */
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

  /** Reports why it ends here; a client that has left receives no report. */
  private cutShort(reason: unknown): void {
    this.isOver = true;
    if (!(reason instanceof ApiError)) return this.finishPulled();
    this.handOn(this.reading.reader.fail(this.sequence + 1, reason.body));
  }

  /** An error on a client's side must not fail the response. */
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

/** The settings of one reader, and its lifetime. */
interface Reading<Event> {
  readonly after: number;
  readonly reader: EventReader<Event>;
  readonly life: Lifetime | undefined;
}

const TOO_SLOW = 'The events that follow were read too slowly to be kept. The response itself can be retrieved.';
