/** Pull streams, passed from stage to stage by plain calls: a promise per stage and token costs more than the work. */
import { isPromise } from '../protocol/record.ts';

/** The consumer of a pull: one of these is called for each `pull`, at once or later. */
export interface Consumer<Chunk> {
  onChunk(chunk: Chunk): void;
  onEnd(): void;
  onError(error: unknown): void;
}

/** An iterator that can also be pulled without a promise; by one caller at a time, and never again after a failure. */
export interface PullStream<Chunk> extends AsyncIterableIterator<Chunk> {
  next(): Promise<IteratorResult<Chunk, undefined>>;
  pull(consumer: Consumer<Chunk>): void;
  /** Called when there will be no more pulls, possibly more than once. Returns a promise only if there is something to wait for. */
  close(): unknown;
  return(): Promise<IteratorResult<Chunk, undefined>>;
}

/** Closes the stream and calls `next`, at once if there is nothing to wait for; `failed` if closing it failed. */
export function closeThen(stream: PullStream<unknown>, next: () => void, failed: (error: unknown) => void): void {
  let closing: unknown;
  try {
    closing = stream.close();
  } catch (error) {
    return failed(error);
  }
  if (isPromise(closing)) closing.then(next, failed);
  else next();
}

/** Replaces the consumer while no pull is pending. */
export const NULL_CONSUMER: Consumer<unknown> = { onChunk() {}, onEnd() {}, onError() {} };

/** Passes a piece to the consumer where a throw would end the process: the throw fails the stream instead. */
export function deliver<Chunk>(consumer: Consumer<Chunk>, chunk: Chunk): void {
  try {
    consumer.onChunk(chunk);
  } catch (error) {
    consumer.onError(error);
  }
}

const ENDED = { done: true, value: undefined } as const;
const HAS_ENDED = Promise.resolve(ENDED);

/**
 * The base of every stage of a stream: `pull`, and how to close it. Stages are objects of classes, since each of a
 * thousand open streams has eight of them, and as closures each took a kilobyte.
 */
export abstract class Stage<Chunk> implements PullStream<Chunk> {
  abstract pull(consumer: Consumer<Chunk>): void;

  abstract close(): unknown;

  next(): Promise<IteratorResult<Chunk, undefined>> {
    return new Promise((resolve, reject) => {
      this.pull({
        onChunk: (value) => resolve({ done: false, value }),
        onEnd: () => resolve(ENDED),
        onError: reject,
      });
    });
  }

  /** Not an async function: each stage of a stream would make three promises at its end. */
  return(): Promise<IteratorResult<Chunk, undefined>> {
    try {
      const closing = this.close();
      return isPromise(closing) ? closing.then(() => ENDED) : HAS_ENDED;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Closes it, and then reports the end to the consumer. */
  protected finish(consumer: Consumer<Chunk>): void {
    closeThen(
      this,
      () => consumer.onEnd(),
      (error) => consumer.onError(error),
    );
  }
}

/** Any stream as a pull stream. */
export function toPullStream<Chunk>(stream: AsyncIterable<Chunk>): PullStream<Chunk> {
  return 'pull' in stream ? (stream as PullStream<Chunk>) : new Iterated(stream[Symbol.asyncIterator]());
}

class Iterated<Chunk> extends Stage<Chunk> {
  private readonly iterator: AsyncIterator<Chunk>;

  constructor(iterator: AsyncIterator<Chunk>) {
    super();
    this.iterator = iterator;
  }

  /** As `for await` does, it takes an iterator of the host's that throws at once, or returns no promise. */
  async pull(consumer: Consumer<Chunk>): Promise<void> {
    try {
      const { done, value } = await this.iterator.next();
      if (done) consumer.onEnd();
      else consumer.onChunk(value);
    } catch (error) {
      consumer.onError(error);
    }
  }

  close() {
    return this.iterator.return?.();
  }
}

/** How the pieces are changed. */
export interface Mapping<From, To> {
  /** The piece in its new form; undefined leaves it out. */
  map(chunk: From): To | undefined;
  /** Called before each piece: returning false or throwing ends the stream. */
  shouldContinue?(): boolean;
  /** What follows the last piece of the stream, if anything. */
  end?(): To | undefined;
  /** The last piece if the stream failed; an error it throws replaces the failure. */
  failed?(error: unknown): To;
  /** Called when the stream is over, for any reason; possibly more than once. */
  closed?(): void;
}

/** The stream with every piece in a new form. */
export function mapStream<From, To>(stream: AsyncIterable<From>, mapping: Mapping<From, To>): PullStream<To> {
  return new Mapped(toPullStream(stream), mapping);
}

class Mapped<From, To> extends Stage<To> implements Consumer<From> {
  private readonly source: PullStream<From>;
  private readonly mapping: Mapping<From, To>;
  private consumer: Consumer<To> = NULL_CONSUMER;
  private over = false;

  constructor(source: PullStream<From>, mapping: Mapping<From, To>) {
    super();
    this.source = source;
    this.mapping = mapping;
  }

  pull(consumer: Consumer<To>): void {
    this.consumer = consumer;
    try {
      if (this.over || this.mapping.shouldContinue?.() === false) this.finish(consumer);
      else this.source.pull(this);
    } catch (error) {
      this.breakOff(error);
    }
  }

  onChunk(chunk: From): void {
    let made: To | undefined;
    try {
      made = this.mapping.map(chunk);
    } catch (error) {
      return this.breakOff(error);
    }
    this.handOn(made);
  }

  onEnd(): void {
    this.over = true;
    let made: To | undefined;
    try {
      made = this.mapping.end?.();
    } catch (error) {
      return this.onError(error);
    }
    this.handOn(made);
  }

  onError(error: unknown): void {
    this.over = true;
    try {
      if (!this.mapping.failed) throw error;
      this.consumer.onChunk(this.mapping.failed(error));
    } catch (failure) {
      this.mapping.closed?.();
      this.consumer.onError(failure);
    }
  }

  close() {
    this.over = true;
    this.mapping.closed?.();
    return this.source.close();
  }

  private handOn(made: To | undefined): void {
    if (made === undefined) this.pull(this.consumer);
    else this.consumer.onChunk(made);
  }

  private breakOff(error: unknown): void {
    const fail = (failure: unknown) => this.onError(failure);
    closeThen(this.source, () => fail(error), fail);
  }
}

/** The pieces of one stream after another; the next stream is requested when the one before has ended. */
export function pullInTurn<Chunk>(streams: AsyncGenerator<AsyncIterable<Chunk>, void>): PullStream<Chunk> {
  return new InTurn(streams);
}

class InTurn<Chunk> extends Stage<Chunk> implements Consumer<Chunk> {
  private readonly streams: AsyncGenerator<AsyncIterable<Chunk>, void>;
  private consumer: Consumer<Chunk> = NULL_CONSUMER;
  private current: PullStream<Chunk> | undefined = undefined;

  constructor(streams: AsyncGenerator<AsyncIterable<Chunk>, void>) {
    super();
    this.streams = streams;
  }

  pull(consumer: Consumer<Chunk>): void {
    this.consumer = consumer;
    if (this.current) this.current.pull(this);
    else this.advance();
  }

  onChunk(chunk: Chunk): void {
    this.consumer.onChunk(chunk);
  }

  onEnd(): void {
    this.advance();
  }

  onError(error: unknown): void {
    this.current = undefined;
    const fail = (failure: unknown) => this.consumer.onError(failure);
    this.streams.return().then(() => fail(error), fail);
  }

  async close(): Promise<void> {
    try {
      await this.current?.close();
    } finally {
      await this.streams.return();
    }
  }

  private advance(): void {
    this.current = undefined;
    this.streams
      .next()
      .then((next) => this.begin(next))
      .catch((error) => this.onError(error));
  }

  private begin({ done, value }: IteratorResult<AsyncIterable<Chunk>, void>): void {
    if (done) return this.consumer.onEnd();
    this.current = toPullStream(value);
    this.current.pull(this);
  }
}

/** A stream of one piece. */
export async function* singleChunkStream<Chunk>(chunk: Chunk): AsyncGenerator<Chunk> {
  yield chunk;
}
