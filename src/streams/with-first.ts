/** A stream whose first piece has already been taken. */
import { type Consumer, type PullStream, Stage } from './pull-stream.ts';

/** The first piece and the rest. */
export function withFirst<Chunk>(first: IteratorResult<Chunk, undefined>, rest: PullStream<Chunk>): PullStream<Chunk> {
  return new WithFirst(first, rest);
}

class WithFirst<Chunk> extends Stage<Chunk> {
  private first: IteratorResult<Chunk, undefined> | undefined;
  private readonly rest: PullStream<Chunk>;

  constructor(first: IteratorResult<Chunk, undefined>, rest: PullStream<Chunk>) {
    super();
    this.first = first;
    this.rest = rest;
  }

  pull(consumer: Consumer<Chunk>): void {
    const { first } = this;
    this.first = undefined;
    if (!first) this.rest.pull(consumer);
    else if (first.done) consumer.onEnd();
    else consumer.onChunk(first.value);
  }

  close() {
    return this.rest.close();
  }
}
