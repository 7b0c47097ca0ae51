/** Sends a second request without the model's thoughts if a model server refuses those it is sent back. */

import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { type Consumer, NULL_CONSUMER, type PullStream, pullStreamOf, Stage } from '../../streams/pull-stream.ts';

type Batch = readonly ModelEvent[];

/** Reported when the second request is made. */
export const STATE_REJECTED: Note = {
  code: 'state_rejected',
  message:
    'The model server refused the thoughts that it was given back, such as those of another account; it is asked without them.',
};

/** The request without the model's earlier thoughts. */
export function withoutThoughts(request: ModelRequest): ModelRequest {
  return { ...request, items: request.items.filter(({ type }) => type !== 'reasoning') };
}

/**
 * Yields the first answer, or the one from `again` if the first fails before any output. `again` returns
 * undefined for an error that the client should see, runs at most once, and is released with the first event.
 */
export function secondTry(
  first: AsyncIterable<Batch>,
  again: (error: unknown) => AsyncIterable<Batch> | undefined,
): PullStream<Batch> {
  return new SecondTry(pullStreamOf(first), again);
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
    this.source = pullStreamOf(next);
    this.source.pull(this);
  }

  close() {
    this.over = true;
    return this.source.close();
  }
}
