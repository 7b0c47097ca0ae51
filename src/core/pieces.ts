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

/** Hands a piece to whoever asked, from where a throw would end the process: it fails the stream instead. */
export function handOver<Piece>(sink: Sink<Piece>, piece: Piece): void {
  try {
    sink.came(piece);
  } catch (error) {
    sink.failed(error);
  }
}

const ENDED = { done: true, value: undefined } as const;

/** The iterator around `ask`; `close` is called when nobody will ask again, perhaps more than once. */
export function pieces<Piece>(ask: (sink: Sink<Piece>) => void, close: () => unknown = () => undefined): Pieces<Piece> {
  return {
    ask,
    next: () =>
      new Promise((resolve, reject) =>
        ask({
          came: (value) => resolve({ done: false, value }),
          ended: () => resolve(ENDED),
          failed: reject,
        }),
      ),
    async return() {
      await close();
      return ENDED;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Any stream as pieces. */
export function piecesOf<Piece>(stream: AsyncIterable<Piece>): Pieces<Piece> {
  if ('ask' in stream) return stream as Pieces<Piece>;
  const iterator = stream[Symbol.asyncIterator]();
  const ask = (sink: Sink<Piece>) => {
    const handOn = (result: IteratorResult<Piece>) => (result.done ? sink.ended() : sink.came(result.value));
    iterator.next().then(handOn).catch(sink.failed);
  };
  return pieces(ask, () => iterator.return?.());
}

/** What becomes of the pieces. */
export interface Mapping<From, To> {
  /** The piece in its new form; undefined leaves it out. */
  readonly map: (piece: From) => To | undefined;
  /** Asked before each piece: false ends it all, and so does what it throws. */
  readonly goesOn?: () => boolean;
  /** What follows the last piece of the stream, if anything. */
  readonly end?: () => To | undefined;
  /** The last piece where the stream failed; what it throws is the failure. */
  readonly failed?: (error: unknown) => To;
  /** Called when it is over, however that came; perhaps more than once. */
  readonly closed?: () => void;
}

/** The stream with every piece in a new form. */
export function mapped<From, To>(stream: AsyncIterable<From>, mapping: Mapping<From, To>): Pieces<To> {
  const { map, goesOn, end, failed = rethrow, closed } = mapping;
  const source = piecesOf(stream);
  let sink: Sink<To>;
  let over = false;

  const close = async () => {
    over = true;
    closed?.();
    await source.return();
  };
  const finish = () => close().then(sink.ended, sink.failed);
  const breakOff = (error: unknown) => void source.return().then(() => fail(error), fail);
  const fail = (error: unknown) => {
    over = true;
    try {
      sink.came(failed(error));
    } catch (failure) {
      closed?.();
      sink.failed(failure);
    }
  };
  const handOn = (made: To | undefined) => {
    if (made === undefined) ask(sink);
    else sink.came(made);
  };
  const own: Sink<From> = {
    came(piece) {
      let made: To | undefined;
      try {
        made = map(piece);
      } catch (error) {
        return breakOff(error);
      }
      handOn(made);
    },
    ended() {
      over = true;
      let made: To | undefined;
      try {
        made = end?.();
      } catch (error) {
        return fail(error);
      }
      handOn(made);
    },
    failed: fail,
  };
  const ask = (given: Sink<To>) => {
    sink = given;
    try {
      if (over || goesOn?.() === false) finish();
      else source.ask(own);
    } catch (error) {
      breakOff(error);
    }
  };
  return pieces(ask, close);
}

/** The pieces of one stream after another; each stream is asked for when the one before has ended. */
export function inTurn<Piece>(streams: AsyncGenerator<AsyncIterable<Piece>, void>): Pieces<Piece> {
  let sink: Sink<Piece>;
  let current: Pieces<Piece> | undefined;

  const own: Sink<Piece> = {
    came: (piece) => sink.came(piece),
    ended: () => advance(),
    failed(error) {
      current = undefined;
      streams.return().then(() => sink.failed(error), sink.failed);
    },
  };
  const advance = () => {
    current = undefined;
    streams.next().then(begin).catch(own.failed);
  };
  const begin = ({ done, value }: IteratorResult<AsyncIterable<Piece>, void>) => {
    if (done) return sink.ended();
    current = piecesOf(value);
    current.ask(own);
  };
  const ask = (given: Sink<Piece>) => {
    sink = given;
    if (current) current.ask(own);
    else advance();
  };
  return pieces(ask, async () => {
    await current?.return();
    await streams.return();
  });
}

/** A stream of one piece. */
export async function* only<Piece>(piece: Piece): AsyncGenerator<Piece> {
  yield piece;
}

function rethrow(error: unknown): never {
  throw error;
}
