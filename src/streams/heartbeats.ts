/** Detects idle streams: emits a heartbeat for every interval in which nothing arrived. */
import { type Consumer, deliver, type PullStream, pullStreamOf, Stage } from './pull-stream.ts';

/** The piece that fills an idle interval; `count` counts the intervals of one idle period from 1. */
export interface Heartbeat {
  readonly count: number;
}

/** The stream with heartbeats while it is idle; `intervalMs` in milliseconds, undefined for none. */
export function withHeartbeats<Chunk>(
  stream: AsyncIterable<Chunk>,
  intervalMs: number | undefined,
): PullStream<Chunk | Heartbeat> {
  const source = pullStreamOf(stream);
  // The cast: a stream without heartbeats is a stream with optional ones.
  return intervalMs === undefined ? (source as PullStream<Chunk | Heartbeat>) : new HeartbeatStage(source, intervalMs);
}

class HeartbeatStage<Chunk> extends Stage<Chunk | Heartbeat> implements Consumer<Chunk> {
  private readonly source: PullStream<Chunk>;
  private readonly timer: NodeJS.Timeout;
  private pulling: Consumer<Chunk | Heartbeat> | undefined = undefined;
  /** The piece that arrived after a heartbeat: it is kept for the next pull, which may come much later. */
  private late: (() => void) | undefined = undefined;
  private isPulled = false;
  private count = 1;

  constructor(source: PullStream<Chunk>, intervalMs: number) {
    super();
    this.source = source;
    this.timer = setInterval(emitHeartbeat, intervalMs, this).unref();
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
    this.timer.refresh();
    // A throw would be reported as a failure of the source, when no pull is pending any more.
    deliver(consumer, chunk);
  }

  onEnd(): void {
    clearInterval(this.timer);
    const consumer = this.take();
    if (consumer) consumer.onEnd();
    else this.late = () => this.onEnd();
  }

  onError(error: unknown): void {
    clearInterval(this.timer);
    const consumer = this.take();
    if (consumer) consumer.onError(error);
    else this.late = () => this.onError(error);
  }

  emit(): void {
    const consumer = this.take();
    if (consumer) deliver(consumer, { count: this.count++ });
  }

  close() {
    clearInterval(this.timer);
    return this.source.close();
  }

  private take(): Consumer<Chunk | Heartbeat> | undefined {
    const consumer = this.pulling;
    this.pulling = undefined;
    return consumer;
  }
}

function emitHeartbeat(stage: HeartbeatStage<unknown>): void {
  stage.emit();
}
