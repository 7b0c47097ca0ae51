/** Reads the batches of a model server's answer as events. */
import type { ModelEvent } from '../protocol/events.ts';
import type { Mapping } from './pull-stream.ts';

/**
 * The reader of one answer; each kind of answer says what its batches hold. What came before a failure in the same batch
 * still counts: its events are handed on first.
 */
export abstract class BatchReader<Batch extends { readonly data: readonly unknown[] }>
  implements Mapping<Batch, readonly ModelEvent[]>
{
  /** Why the newest batch could not be read to its end. */
  protected failure: unknown = undefined;

  /** Adds what the batch holds to `events`. */
  protected abstract read(batch: Batch, events: ModelEvent[]): void;

  /** The events that follow the last batch. Throws if the answer is not whole. */
  abstract end(): readonly ModelEvent[];

  /** Whether the answer is whole, although its stream may go on. */
  protected isWhole(): boolean {
    return false;
  }

  /** The failure as the client may see it. */
  protected visibleFailure(error: unknown): unknown {
    return error;
  }

  map(batch: Batch): ModelEvent[] | undefined {
    const events: ModelEvent[] = [];
    try {
      this.read(batch, events);
    } catch (error) {
      this.failure = this.visibleFailure(error);
    }
    // An empty batch means that the request was accepted.
    return events.length > 0 || batch.data.length === 0 ? events : undefined;
  }

  shouldContinue(): boolean {
    if (this.failure !== undefined) throw this.failure;
    return !this.isWhole();
  }
}
