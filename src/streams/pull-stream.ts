/** Pieces of a stream, handed from layer to layer by plain calls: a promise for each layer and token costs more than the work. */

/** Whoever asks for a piece: one of these is called for each `ask`, at once or later. */
export interface Sink<Piece> {
  came(piece: Piece): void;
  ended(): void;
  failed(error: unknown): void;
}

/** An iterator that can also be asked without a promise; by one caller at a time, and never again after a failure. */
export interface Pieces<Piece> extends AsyncIterableIterator<Piece, undefined> {
  ask(sink: Sink<Piece>): void;
  return(): Promise<IteratorResult<Piece, undefined>>;
}

/** In the place of a sink where nobody has asked yet. */
export const NOBODY: Sink<unknown> = { came() {}, ended() {}, failed() {} };

/** Hands a piece to whoever asked, from where a throw would end the process: it fails the stream instead. */
export function handOver<Piece>(sink: Sink<Piece>, piece: Piece): void {
  try {
    sink.came(piece);
  } catch (error) {
    sink.failed(error);
  }
}

const ENDED = { done: true, value: undefined } as const;

/**
 * What every layer of a stream is: `ask`, and how to close it. Layers are objects of classes, since each of a thousand open
 * streams has eight of them, and as closures each took a kilobyte.
 */
export abstract class Layer<Piece> implements Pieces<Piece> {
  abstract ask(sink: Sink<Piece>): void;

  /** Called when nobody will ask again, perhaps more than once. */
  abstract close(): unknown;

  next(): Promise<IteratorResult<Piece, undefined>> {
    return new Promise((resolve, reject) => {
      this.ask({
        came: (value) => resolve({ done: false, value }),
        ended: () => resolve(ENDED),
        failed: reject,
      });
    });
  }

  async return(): Promise<IteratorResult<Piece, undefined>> {
    await this.close();
    return ENDED;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Closes it, and then tells the sink of the end. */
  protected finish(sink: Sink<Piece>): void {
    this.return().then(
      () => sink.ended(),
      (error) => sink.failed(error),
    );
  }
}

/** Any stream as pieces. */
export function piecesOf<Piece>(stream: AsyncIterable<Piece>): Pieces<Piece> {
  return 'ask' in stream ? (stream as Pieces<Piece>) : new Iterated(stream[Symbol.asyncIterator]());
}

class Iterated<Piece> extends Layer<Piece> {
  private readonly iterator: AsyncIterator<Piece>;

  constructor(iterator: AsyncIterator<Piece>) {
    super();
    this.iterator = iterator;
  }

  ask(sink: Sink<Piece>): void {
    const handOn = (result: IteratorResult<Piece>) => (result.done ? sink.ended() : sink.came(result.value));
    this.iterator
      .next()
      .then(handOn)
      .catch((error) => sink.failed(error));
  }

  close() {
    return this.iterator.return?.();
  }
}

/** What becomes of the pieces. */
export interface Mapping<From, To> {
  /** The piece in its new form; undefined leaves it out. */
  map(piece: From): To | undefined;
  /** Asked before each piece: false ends it all, and so does what it throws. */
  goesOn?(): boolean;
  /** What follows the last piece of the stream, if anything. */
  end?(): To | undefined;
  /** The last piece where the stream failed; what it throws is the failure. */
  failed?(error: unknown): To;
  /** Called when it is over, however that came; perhaps more than once. */
  closed?(): void;
}

/** The stream with every piece in a new form. */
export function mapped<From, To>(stream: AsyncIterable<From>, mapping: Mapping<From, To>): Pieces<To> {
  return new Mapped(piecesOf(stream), mapping);
}

class Mapped<From, To> extends Layer<To> implements Sink<From> {
  private readonly source: Pieces<From>;
  private readonly mapping: Mapping<From, To>;
  private sink: Sink<To> = NOBODY;
  private over = false;

  constructor(source: Pieces<From>, mapping: Mapping<From, To>) {
    super();
    this.source = source;
    this.mapping = mapping;
  }

  ask(sink: Sink<To>): void {
    this.sink = sink;
    try {
      if (this.over || this.mapping.goesOn?.() === false) this.finish(sink);
      else this.source.ask(this);
    } catch (error) {
      this.breakOff(error);
    }
  }

  came(piece: From): void {
    let made: To | undefined;
    try {
      made = this.mapping.map(piece);
    } catch (error) {
      return this.breakOff(error);
    }
    this.handOn(made);
  }

  ended(): void {
    this.over = true;
    let made: To | undefined;
    try {
      made = this.mapping.end?.();
    } catch (error) {
      return this.failed(error);
    }
    this.handOn(made);
  }

  failed(error: unknown): void {
    this.over = true;
    try {
      if (!this.mapping.failed) throw error;
      this.sink.came(this.mapping.failed(error));
    } catch (failure) {
      this.mapping.closed?.();
      this.sink.failed(failure);
    }
  }

  async close(): Promise<void> {
    this.over = true;
    this.mapping.closed?.();
    await this.source.return();
  }

  private handOn(made: To | undefined): void {
    if (made === undefined) this.ask(this.sink);
    else this.sink.came(made);
  }

  private breakOff(error: unknown): void {
    const fail = (failure: unknown) => this.failed(failure);
    this.source.return().then(() => fail(error), fail);
  }
}

/** The pieces of one stream after another; each stream is asked for when the one before has ended. */
export function inTurn<Piece>(streams: AsyncGenerator<AsyncIterable<Piece>, void>): Pieces<Piece> {
  return new InTurn(streams);
}

class InTurn<Piece> extends Layer<Piece> implements Sink<Piece> {
  private readonly streams: AsyncGenerator<AsyncIterable<Piece>, void>;
  private sink: Sink<Piece> = NOBODY;
  private current: Pieces<Piece> | undefined = undefined;

  constructor(streams: AsyncGenerator<AsyncIterable<Piece>, void>) {
    super();
    this.streams = streams;
  }

  ask(sink: Sink<Piece>): void {
    this.sink = sink;
    if (this.current) this.current.ask(this);
    else this.advance();
  }

  came(piece: Piece): void {
    this.sink.came(piece);
  }

  ended(): void {
    this.advance();
  }

  failed(error: unknown): void {
    this.current = undefined;
    const fail = (failure: unknown) => this.sink.failed(failure);
    this.streams.return().then(() => fail(error), fail);
  }

  async close(): Promise<void> {
    await this.current?.return();
    await this.streams.return();
  }

  private advance(): void {
    this.current = undefined;
    this.streams
      .next()
      .then((next) => this.begin(next))
      .catch((error) => this.failed(error));
  }

  private begin({ done, value }: IteratorResult<AsyncIterable<Piece>, void>): void {
    if (done) return this.sink.ended();
    this.current = piecesOf(value);
    this.current.ask(this);
  }
}

/** A stream of one piece. */
export async function* only<Piece>(piece: Piece): AsyncGenerator<Piece> {
  yield piece;
}
