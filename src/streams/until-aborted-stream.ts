/** A stream that fails as soon as a signal is aborted, whether or not its source obeys the signal. */
import { type Consumer, type PullStream, Stage, toPullStream } from './pull-stream.ts';

/** The stream, until then; it fails with the signal's reason. */
export function streamUntilAborted<Chunk>(stream: AsyncIterable<Chunk>, signal: AbortSignal): PullStream<Chunk> {
  return new UntilAborted(toPullStream(stream), signal);
}

class UntilAborted<Chunk> extends Stage<Chunk> implements Consumer<Chunk> {
  private readonly source: PullStream<Chunk>;
  private readonly signal: AbortSignal;
  /** Undefined while nobody waits, and for good once the stream is over. */
  private consumer: Consumer<Chunk> | undefined = undefined;
  private over = false;

  constructor(source: PullStream<Chunk>, signal: AbortSignal) {
    super();
    this.source = source;
    this.signal = signal;
    signal.addEventListener('abort', this.breakOff, { once: true });
  }

  pull(consumer: Consumer<Chunk>): void {
    this.consumer = consumer;
    if (this.signal.aborted) this.breakOff();
    else this.source.pull(this);
  }

  onChunk(chunk: Chunk): void {
    const { consumer } = this;
    this.consumer = undefined;
    consumer?.onChunk(chunk);
  }

  onEnd(): void {
    const { consumer } = this;
    this.consumer = undefined;
    this.signal.removeEventListener('abort', this.breakOff);
    consumer?.onEnd();
  }

  onError(error: unknown): void {
    const { consumer } = this;
    this.consumer = undefined;
    this.signal.removeEventListener('abort', this.breakOff);
    consumer?.onError(error);
  }

  close(): unknown {
    this.signal.removeEventListener('abort', this.breakOff);
    // A source that does not end when it is told to is not waited for.
    const closing = this.over ? undefined : this.source.close();
    this.over = true;
    return this.signal.aborted ? void Promise.resolve(closing).catch(() => {}) : closing;
  }

  private readonly breakOff = (): void => {
    const { consumer } = this;
    if (!consumer) return;
    this.consumer = undefined;
    this.close();
    consumer.onError(this.signal.reason);
  };
}
