/** What a response in the background has told: kept for a while, so that clients may leave and come back for the rest. */
import { AsyncResource } from 'node:async_hooks';
import { errorFrame } from '../apis/responses/encode.ts';
import { ApiError, type ErrorBody } from '../protocol/errors.ts';
import { handOver, Layer, NOBODY, type Sink } from '../streams/pull-stream.ts';
import { DONE_FRAME } from '../streams/sse-frames.ts';
import type { Lifetime } from '../turn/lifetime.ts';

/** Characters of frames that one response keeps; of a longer one the oldest are gone. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** Characters after which a reader is handed what it has: more would lie in memory for each reader that does not read. */
const PIECE = 64 * 1024;
/** How long the model waits for a reader that has stopped reading, and for all readers of a response together, in milliseconds. */
const PATIENCE_MS = 5000;
const MOST_WAITING_MS = 60_000;

/** The frame of one event; a comment has the number of the event before it. */
export interface RecordedFrame {
  readonly sequence: number;
  readonly frame: string | RepeatedFrame;
}

/** A frame that repeats what the response holds anyway: written for each reader, so that its text is not kept several times. */
export interface RepeatedFrame {
  readonly length: number;
  write(): string;
}

/** A frame as it is kept; `start` is how many characters were kept before it, since the first. */
interface KeptFrame extends RecordedFrame {
  readonly start: number;
}

/** Some frames together. */
interface Taken {
  /** Empty where there is nothing yet. */
  readonly text: string;
  /** Of the frame behind those. */
  readonly index: number;
  /** Of the last of them. */
  readonly sequence: number;
}

/** Frames in the order of their sequence numbers, read by anybody from any of them on. */
export class Recording {
  private readonly mostCharacters: number;
  private frames: KeptFrame[] = [];
  /** How many frames are gone that stood before these. */
  private gone = 0;
  /** Characters of all frames that were ever kept as text. */
  private told = 0;
  private repeated = 0;
  private isOver = false;
  private readonly waiting = new Set<Replay>();
  private readonly readers = new Set<Replay>();
  private patience = MOST_WAITING_MS;
  private catchUp = () => {};

  constructor(mostCharacters = MOST_CHARACTERS) {
    this.mostCharacters = mostCharacters;
  }

  /** Characters of all frames that are kept. */
  get size(): number {
    return this.told - this.startOf(this.gone) + this.repeated;
  }

  /** Adds what was told, and tells those who wait for it. */
  add(frames: readonly RecordedFrame[]): void {
    for (const { sequence, frame } of frames) {
      this.frames.push({ sequence, frame, start: this.told });
      if (typeof frame === 'string') this.told += frame.length;
      else this.repeated += frame.length;
    }
    // What came last stays, however long it is: those who have read all before must be able to read it.
    if (this.told - this.startOf(this.gone) > this.mostCharacters) this.forget(this.frames.length - frames.length);
    this.wake();
  }

  /** Nothing follows but this, whatever a client has seen already. */
  end(frame: string): void {
    this.isOver = true;
    this.add([{ sequence: Number.POSITIVE_INFINITY, frame }]);
  }

  /**
   * The frames behind the event of this number, those that are yet to come included; undefined where some are gone.
   * `life` ends the reading, which ends it when it is over.
   */
  after(sequence: number, life?: Lifetime): Layer<string> | undefined {
    const [first] = this.frames;
    if (this.gone > 0 && first && first.sequence > sequence + 1) return undefined;
    const replay = new Replay(this, this.gone + this.firstAfter(sequence), sequence, life);
    this.readers.add(replay);
    return replay;
  }

  /** The next whole frames behind the event `after`; undefined where they are gone. */
  take(index: number, after: number): Taken | undefined {
    if (index < this.gone) return undefined;
    let text = '';
    let sequence = after;
    let at = index - this.gone;
    for (; at < this.frames.length && text.length < PIECE; at += 1) {
      // The cast: it was compared with the length.
      const kept = this.frames[at] as KeptFrame;
      if (kept.sequence <= after) continue;
      text += typeof kept.frame === 'string' ? kept.frame : kept.frame.write();
      sequence = kept.sequence;
    }
    return { text, index: at + this.gone, sequence };
  }

  /** Whether there is nothing behind the frame of this index, and never will be. */
  isWhole(index: number): boolean {
    return this.isOver && index === this.gone + this.frames.length;
  }

  /** Has the replay `goOn` when there is more. */
  await(replay: Replay): void {
    this.waiting.add(replay);
  }

  leave(replay: Replay): void {
    this.waiting.delete(replay);
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
    const far = this.told - this.mostCharacters / 2;
    if (this.startOf(this.gone) >= far) return false;
    for (const { index, askedAt } of this.readers) if (askedAt > since && this.startOf(index) < far) return true;
    return false;
  }

  /** How many characters were kept before the frame of this index; of one that is gone, before the first that is not. */
  private startOf(index: number): number {
    return this.frames[Math.max(index - this.gone, 0)]?.start ?? this.told;
  }

  private firstAfter(sequence: number): number {
    let low = 0;
    let high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // The cast: the middle is below the length.
      if ((this.frames[middle] as KeptFrame).sequence > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Lets a quarter go at once, since each time moves all that stay; at most this many frames. */
  private forget(most: number): void {
    const enough = this.told - this.mostCharacters * 0.75;
    let count = 0;
    for (const { start, frame } of this.frames) {
      if (count === most || start >= enough) break;
      if (typeof frame !== 'string') this.repeated -= frame.length;
      count += 1;
    }
    this.frames.splice(0, count);
    this.gone += count;
  }

  private wake(): void {
    const replays = [...this.waiting];
    this.waiting.clear();
    for (const replay of replays) replay.goOn();
  }
}

/**
 * One reading of a recording, as fast as it is asked. It goes on in its own client's async context, not in that of the
 * response, and ends in time though nobody asks: its lifetime then cuts the client off.
 */
class Replay extends Layer<string> {
  /** Of the frame that comes next. */
  index: number;
  askedAt = performance.now();
  private readonly recording: Recording;
  private readonly context = new AsyncResource('RECORDED_EVENTS');
  private readonly life: Lifetime | undefined;
  private readonly after: number;
  /** Of the last event that was handed on. */
  private sequence: number;
  private sink: Sink<string> = NOBODY;
  private isAsked = false;
  private isOver = false;

  constructor(recording: Recording, index: number, after: number, life: Lifetime | undefined) {
    super();
    this.recording = recording;
    this.index = index;
    this.after = after;
    this.sequence = after;
    this.life = life;
    life?.signal.addEventListener('abort', this.goOn, { once: true });
  }

  ask(sink: Sink<string>): void {
    this.sink = sink;
    this.isAsked = true;
    this.askedAt = performance.now();
    this.tell();
  }

  close(): void {
    this.isOver = true;
    this.isAsked = false;
    this.recording.leave(this);
    this.life?.signal.removeEventListener('abort', this.goOn);
    this.life?.leave();
  }

  readonly goOn = (): void => {
    if (this.isAsked) this.context.runInAsyncScope(this.tell, this);
  };

  private tell(): void {
    const { recording, life } = this;
    if (this.isOver || recording.isWhole(this.index)) return this.finishAsked();
    if (life?.signal.aborted) return this.cutShort(life.signal.reason);
    const taken = recording.take(this.index, this.after);
    if (!taken) return this.cutShort(tooSlow());
    this.index = taken.index;
    this.sequence = taken.sequence;
    if (taken.text !== '') this.handOn(taken.text);
    else if (recording.isWhole(this.index)) this.finishAsked();
    else recording.await(this);
  }

  /** Says why it ends here; a client that has left has nobody to say it to. */
  private cutShort(reason: unknown): void {
    this.isOver = true;
    if (!(reason instanceof ApiError)) return this.finishAsked();
    this.handOn(errorEvent(this.sequence + 1, reason.body) + DONE_FRAME);
  }

  /** What a client's side throws is not the response's to fail of. */
  private handOn(text: string): void {
    this.isAsked = false;
    this.recording.progressed();
    handOver(this.sink, text);
  }

  private finishAsked(): void {
    this.isAsked = false;
    this.finish(this.sink);
  }
}

function errorEvent(sequence: number, error: ErrorBody): string {
  return errorFrame({ type: 'error', sequence, error });
}

function tooSlow(): ApiError {
  return new ApiError(
    'reader_too_slow',
    'The events that follow were read too slowly to be kept. The response itself can be retrieved.',
  );
}
