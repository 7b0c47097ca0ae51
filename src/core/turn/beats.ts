/** Notices silence: a beat for every interval in which nothing came. */

/** Stands where nothing came; `beat` counts the intervals of one silence from 1. */
export interface Beat {
  readonly beat: number;
}

/**
 * The source with beats in its silences; `intervalMs` in milliseconds, undefined for none. An iterator by hand, since a
 * generator would cost every batch more than the beats are worth.
 */
export function withBeats<T>(source: AsyncIterable<T>, intervalMs: number | undefined): AsyncIterable<T | Beat> {
  if (intervalMs === undefined) return source;
  return { [Symbol.asyncIterator]: () => beating(source[Symbol.asyncIterator](), intervalMs) };
}

function beating<T>(iterator: AsyncIterator<T>, intervalMs: number): AsyncIterator<T | Beat> {
  let wake: (() => void) | undefined;
  let pending: Promise<IteratorResult<T>> | undefined;
  let beat = 1;
  const timer = setInterval(() => wake?.(), intervalMs).unref();

  const taken = (result: IteratorResult<T>): IteratorResult<T | Beat> => {
    pending = undefined;
    wake = undefined;
    beat = 1;
    if (result.done) clearInterval(timer);
    else timer.refresh();
    return result;
  };
  return {
    next() {
      pending ??= iterator.next();
      const next = pending;
      return new Promise((resolve, reject) => {
        let beaten = false;
        wake = () => {
          beaten = true;
          wake = undefined;
          resolve({ done: false, value: { beat: beat++ } });
        };
        next.then(
          // What comes after the beat is left for the next one to ask, who may ask much later.
          (result) => beaten || resolve(taken(result)),
          (error) => {
            clearInterval(timer);
            reject(error);
          },
        );
      });
    },
    async return() {
      clearInterval(timer);
      await iterator.return?.();
      return { done: true, value: undefined };
    },
  };
}
