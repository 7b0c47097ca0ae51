/** Asks a model server once more, in another way, if it refuses a request before any output. */

import type { ModelEvent } from '../protocol/events.ts';
import { type Consumer, NULL_CONSUMER, type PullStream, Stage, toPullStream } from './pull-stream.ts';

type Batch = readonly ModelEvent[];

/**
 * Yields the first answer, or the one from `again` if the first fails before any output. `again` returns
 * undefined for an error that the client should see, runs at most once, and is released with the first event.
 */
export function secondTry(
  first: AsyncIterable<Batch>,
  again: (error: unknown) => AsyncIterable<Batch> | undefined,
): PullStream<Batch> {
  return new SecondTry(toPullStream(first), again);
}

class SecondTry extends Stage<Batch> implements Consumer<Batch> {
  private source: PullStream<Batch>;
  private again: ((error: unknown) => AsyncIterable<Batch> | undefined) | undefined;
  private consumer: Consumer<Batch> = NULL_CONSUMER;
  private over = false;

  constructor(first: PullStream<Batch>, again: (error: unknown) => AsyncIterable<Batch> | undefined) {
    super();
    this.source = first;
    this.again = again;
  }

  pull(consumer: Consumer<Batch>): void {
    this.consumer = consumer;
    this.source.pull(this);
  }

  onChunk(batch: Batch): void {
    // An empty batch means only that the request was accepted.
    if (batch.length > 0) this.again = undefined;
    this.consumer.onChunk(batch);
  }

  onEnd(): void {
    this.consumer.onEnd();
  }

  onError(error: unknown): void {
    const { again } = this;
    this.again = undefined;
    let next: AsyncIterable<Batch> | undefined;
    try {
      next = this.over ? undefined : again?.(error);
    } catch (failure) {
      return this.consumer.onError(failure);
    }
    if (!next) return this.consumer.onError(error);
    this.source = toPullStream(next);
    this.source.pull(this);
  }

  close() {
    this.over = true;
    return this.source.close();
  }
}
