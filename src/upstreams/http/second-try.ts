/** A second request without the model's thoughts, where a model server refuses those that it is given back. */

import type { ModelEvent } from '../../protocol/events.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { type Consumer, NULL_CONSUMER, type PullStream, pullStreamOf, Stage } from '../../streams/pull-stream.ts';

type Batch = readonly ModelEvent[];

/** Reported where the second request is made. */
export const STATE_REJECTED: Note = {
  code: 'state_rejected',
  message:
    'The model server refused the thoughts that it was given back, such as those of another account; it is asked without them.',
};

/** The request as if the model had not thought before. */
export function withoutThoughts(request: ModelRequest): ModelRequest {
  return { ...request, items: request.items.filter(({ type }) => type !== 'reasoning') };
}

/**
 * The first answer, or the one that `again` makes where the first fails before anything is said. `again` answers
 * undefined for an error that the client is to see, is called once at most, and is let go with the first event.
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
    // An empty batch says only that the request was taken.
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

  async close(): Promise<void> {
    this.over = true;
    await this.source.return();
  }
}
