/** A stream whose first piece has already been taken. */
import { type Pieces, pieces } from './pieces.ts';

/** The first piece and the rest. */
export function withFirst<Piece>(first: IteratorResult<Piece, undefined>, rest: Pieces<Piece>): Pieces<Piece> {
  let waiting: typeof first | undefined = first;
  return pieces(
    (sink) => {
      const taken = waiting;
      waiting = undefined;
      if (!taken) rest.ask(sink);
      else if (taken.done) sink.ended();
      else sink.came(taken.value);
    },
    () => rest.return(),
  );
}
