/** A stream whose first piece has already been taken. */
import { Layer, type Pieces, type Sink } from './pull-stream.ts';

/** The first piece and the rest. */
export function withFirst<Piece>(first: IteratorResult<Piece, undefined>, rest: Pieces<Piece>): Pieces<Piece> {
  return new WithFirst(first, rest);
}

class WithFirst<Piece> extends Layer<Piece> {
  private first: IteratorResult<Piece, undefined> | undefined;
  private readonly rest: Pieces<Piece>;

  constructor(first: IteratorResult<Piece, undefined>, rest: Pieces<Piece>) {
    super();
    this.first = first;
    this.rest = rest;
  }

  ask(sink: Sink<Piece>): void {
    const { first } = this;
    this.first = undefined;
    if (!first) this.rest.ask(sink);
    else if (first.done) sink.ended();
    else sink.came(first.value);
  }

  close() {
    return this.rest.return();
  }
}
