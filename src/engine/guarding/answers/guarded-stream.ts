/** A stream whose batches pass guards, which may take their time and may end it. */
import {
  type Consumer,
  closeThen,
  NULL_CONSUMER,
  type PullStream,
  Stage,
  toPullStream,
} from '../../../streams/pull-stream.ts';

/** Guards the batches of one answer. */
export interface BatchGuard<Batch> {
  take(batch: Batch): Promise<Batch>;
  /** The error with which the answer fails, as it may be shown. */
  failure(error: unknown): Promise<unknown>;
  /** Whether nothing may follow. */
  readonly isBlocked: boolean;
}

/** The guarded stream; it is closed as soon as nothing more may follow. */
export function guardedStream<Batch>(stream: AsyncIterable<Batch>, guard: BatchGuard<Batch>): PullStream<Batch> {
  return new GuardedStream(toPullStream(stream), guard);
}

class GuardedStream<Batch> extends Stage<Batch> implements Consumer<Batch> {
  private readonly source: PullStream<Batch>;
  private readonly guard: BatchGuard<Batch>;
  private consumer: Consumer<Batch> = NULL_CONSUMER;
  private isClosed = false;

  constructor(source: PullStream<Batch>, guard: BatchGuard<Batch>) {
    super();
    this.source = source;
    this.guard = guard;
  }

  pull(consumer: Consumer<Batch>): void {
    this.consumer = consumer;
    if (this.guard.isBlocked) this.finish(consumer);
    else this.source.pull(this);
  }

  onChunk(chunk: Batch): void {
    this.guard
      .take(chunk)
      .then((batch) => this.isClosed || this.consumer.onChunk(batch))
      .catch((error) => this.breakOff(error));
  }

  onEnd(): void {
    this.consumer.onEnd();
  }

  onError(error: unknown): void {
    const fail = (shown: unknown) => this.consumer.onError(shown);
    this.guard.failure(error).then(fail, fail);
  }

  close() {
    this.isClosed = true;
    return this.source.close();
  }

  private breakOff(error: unknown): void {
    const fail = () => this.consumer.onError(error);
    closeThen(this.source, fail, fail);
  }
}
