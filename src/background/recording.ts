/** What a response in the background has told: kept for a while, so that clients may leave and come back for the rest. */
import { AsyncResource } from 'node:async_hooks';
import { ApiError } from '../protocol/errors.ts';
import { handOver, Layer, NOBODY, type Sink } from '../streams/pull-stream.ts';

/** Characters of frames that one response keeps; of a longer one the oldest are gone. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** The frame of one event; a comment has the number of the event before it. */
export interface RecordedFrame {
  readonly sequence: number;
  readonly frame: string;
}

/** What follows a frame. */
interface Next {
  readonly frames: readonly RecordedFrame[];
  /** Of the frame behind those. */
  readonly index: number;
  readonly isOver: boolean;
}

/** Frames in the order of their sequence numbers, read by anybody from any of them on. */
export class Recording {
  private readonly mostCharacters: number;
  private frames: RecordedFrame[] = [];
  /** How many frames are gone that stood before these. */
  private gone = 0;
  private characters = 0;
  private isOver = false;
  private readonly waiting = new Set<Replay>();

  constructor(mostCharacters = MOST_CHARACTERS) {
    this.mostCharacters = mostCharacters;
  }

  /** Characters of all frames that are kept. */
  get size(): number {
    return this.characters;
  }

  /** Adds what was told, and tells those who wait for it. */
  add(frames: readonly RecordedFrame[]): void {
    for (const each of frames) {
      this.frames.push(each);
      this.characters += each.frame.length;
    }
    if (this.characters > this.mostCharacters) this.forget();
    this.wake();
  }

  /** Nothing follows but this, whatever a client has seen already. */
  end(frame: string): void {
    this.isOver = true;
    this.add([{ sequence: Number.POSITIVE_INFINITY, frame }]);
  }

  /** The frames behind the event of this number, those that are yet to come included; undefined where some are gone. */
  after(sequence: number): Layer<string> | undefined {
    const isWhole = this.gone === 0 || (this.frames[0] as RecordedFrame).sequence <= sequence + 1;
    return isWhole ? new Replay(this, this.gone, sequence) : undefined;
  }

  /** How it goes on from the frame of this index; undefined where it is gone. */
  from(index: number): Next | undefined {
    if (index < this.gone) return undefined;
    const frames = this.frames.slice(index - this.gone);
    return { frames, index: index + frames.length, isOver: this.isOver };
  }

  /** Has the replay `goOn` when there is more. */
  await(replay: Replay): void {
    this.waiting.add(replay);
  }

  leave(replay: Replay): void {
    this.waiting.delete(replay);
  }

  /** Lets a quarter go at once, since each time moves all that stay. */
  private forget(): void {
    let left = this.characters - this.mostCharacters * 0.75;
    let count = 0;
    for (; left > 0 && count < this.frames.length - 1; count += 1) {
      const { length } = (this.frames[count] as RecordedFrame).frame;
      left -= length;
      this.characters -= length;
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

/** One reading of a recording. It goes on in its own client's async context, not in that of the response. */
class Replay extends Layer<string> {
  private readonly recording: Recording;
  private readonly context = new AsyncResource('RECORDED_EVENTS');
  private readonly after: number;
  private index: number;
  private sink: Sink<string> = NOBODY;

  constructor(recording: Recording, index: number, after: number) {
    super();
    this.recording = recording;
    this.index = index;
    this.after = after;
  }

  ask(sink: Sink<string>): void {
    this.sink = sink;
    this.tell();
  }

  close(): void {
    this.recording.leave(this);
  }

  goOn(): void {
    this.context.runInAsyncScope(this.tell, this);
  }

  private tell(): void {
    const { recording, sink } = this;
    const next = recording.from(this.index);
    if (!next) return sink.failed(tooSlow());
    this.index = next.index;
    const unseen = next.frames.filter(({ sequence }) => sequence > this.after);
    // What a client's side throws is not the response's to fail of.
    if (unseen.length > 0) return handOver(sink, unseen.map(({ frame }) => frame).join(''));
    if (next.isOver) this.finish(sink);
    else recording.await(this);
  }
}

function tooSlow(): ApiError {
  return new ApiError('server_error', 'The events that follow were read too late to be kept.');
}
