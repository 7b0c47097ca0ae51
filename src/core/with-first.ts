/** A stream whose first piece has already been taken. */

/**
 * The first piece and the rest, encoded. An iterator, not a generator: closing a generator that never ran would leave
 * the source open.
 */
export function withFirst<Piece>(
  first: IteratorResult<Piece>,
  rest: AsyncGenerator<Piece>,
  encode: (piece: Piece) => string,
): AsyncIterableIterator<string> {
  let waiting: IteratorResult<Piece> | undefined = first;
  const encoded = (result: IteratorResult<Piece>): IteratorResult<string> =>
    result.done ? { done: true, value: undefined } : { done: false, value: encode(result.value) };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      const taken = waiting;
      waiting = undefined;
      return taken ? Promise.resolve(encoded(taken)) : rest.next().then(encoded);
    },
    async return() {
      await rest.return(undefined);
      return { done: true, value: undefined };
    },
  };
}
