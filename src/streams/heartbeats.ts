/** Fills the silence of a stream: opens the answer before its first piece, and sends heartbeats while it is idle. */
import { type Consumer, deliver, type PullStream, Stage, toPullStream } from './pull-stream.ts';

/**
 * The piece that fills an idle interval; `count` counts the intervals of one idle period from 1, and is 0 for the piece
 * that opens an answer before the stream's first one.
 */
export interface Heartbeat {
  readonly count: number;
}

/** How long a stream may be silent, in milliseconds. */
export interface Silence {
  /** Before a heartbeat; undefined for no heartbeats. */
  readonly intervalMs: number | undefined;
  /** Before the answer is opened without its first piece; `Infinity` for never, undefined for a stream that is open already. */
  readonly openAfterMs: number | undefined;
}

/** The silence of a stream that is never filled. */
export const UNFILLED: Silence = { intervalMs: undefined, openAfterMs: undefined };

/** The stream with a piece that opens it, and with heartbeats while it is idle. */
export function withHeartbeats<Chunk>(stream: AsyncIterable<Chunk>, silence: Silence): PullStream<Chunk | Heartbeat> {
  const source = toPullStream(stream);
  // The cast: a stream without heartbeats is a stream with optional ones.
  if (silence.intervalMs === undefined && silence.openAfterMs === undefined)
    return source as PullStream<Chunk | Heartbeat>;
  return new HeartbeatStage(source, silence);
}

class HeartbeatStage<Chunk> extends Stage<Chunk | Heartbeat> implements Consumer<Chunk> {
  private readonly source: PullStream<Chunk>;
  private readonly intervalMs: number | undefined;
  /** One at a time: until the stream is open that of its opening, then that of the heartbeats, if there are any. */
  private timer: NodeJS.Timeout | undefined = undefined;
  private isOpen = false;
  private pulling: Consumer<Chunk | Heartbeat> | undefined = undefined;
  /** The piece that arrived after a heartbeat: it is kept for the next pull, which may come much later. */
  private late: (() => void) | undefined = undefined;
  private isPulled = false;
  private count = 1;

  constructor(source: PullStream<Chunk>, { intervalMs, openAfterMs }: Silence) {
    super();
    this.source = source;
    this.intervalMs = intervalMs;
    if (openAfterMs === undefined) this.open();
    else if (openAfterMs < Number.POSITIVE_INFINITY) this.timer = setTimeout(fillSilence, openAfterMs, this).unref();
  }

  pull(consumer: Consumer<Chunk | Heartbeat>): void {
    this.pulling = consumer;
    const deliverLate = this.late;
    this.late = undefined;
    if (deliverLate) return deliverLate();
    if (this.isPulled) return;
    this.isPulled = true;
    this.source.pull(this);
  }

  onChunk(chunk: Chunk): void {
    this.isPulled = false;
    const consumer = this.take();
    if (!consumer) {
      this.late = () => this.onChunk(chunk);
      return;
    }
    this.count = 1;
    if (this.isOpen) this.timer?.refresh();
    else this.open();
    // A throw would be reported as a failure of the source, when no pull is pending any more.
    deliver(consumer, chunk);
  }

  onEnd(): void {
    this.stop();
    const consumer = this.take();
    if (consumer) consumer.onEnd();
    else this.late = () => this.onEnd();
  }

  onError(error: unknown): void {
    this.stop();
    const consumer = this.take();
    if (consumer) consumer.onError(error);
    else this.late = () => this.onError(error);
  }

  fillSilence(): void {
    const isOpening = !this.isOpen;
    if (isOpening) this.open();
    const consumer = this.take();
    if (consumer) deliver(consumer, { count: isOpening ? 0 : this.count++ });
  }

  /** From now on heartbeats fill the silence. */
  private open(): void {
    clearTimeout(this.timer);
    this.isOpen = true;
    const { intervalMs } = this;
    this.timer = intervalMs === undefined ? undefined : setInterval(fillSilence, intervalMs, this).unref();
  }

  close() {
    this.stop();
    return this.source.close();
  }

  /** For good: a piece may still arrive afterwards. */
  private stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isOpen = true;
  }

  private take(): Consumer<Chunk | Heartbeat> | undefined {
    const consumer = this.pulling;
    this.pulling = undefined;
    return consumer;
  }
}

/** A function of the timer's argument, not a closure for each stream. */
function fillSilence(stage: HeartbeatStage<unknown>): void {
  stage.fillSilence();
}
