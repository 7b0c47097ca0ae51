/** Notices silence: a beat for every interval in which nothing came. */

/** Stands where nothing came; `beat` counts the intervals of one silence from 1. */
export interface Beat {
  readonly beat: number;
}

/** The source with beats in its silences; `intervalMs` in milliseconds, undefined for none. */
export async function* withBeats<T>(
  source: AsyncIterable<T>,
  intervalMs: number | undefined,
): AsyncGenerator<T | Beat> {
  if (intervalMs === undefined) return yield* source;
  const iterator = source[Symbol.asyncIterator]();
  let wake: (() => void) | undefined;
  const timer = setInterval(() => wake?.(), intervalMs).unref();
  try {
    let next = iterator.next();
    for (let beat = 1; ; ) {
      const result = await nextOrBeat(next, (resolve) => (wake = resolve));
      if (!result) {
        yield { beat: beat++ };
        continue;
      }
      if (result.done) return;
      timer.refresh();
      beat = 1;
      yield result.value;
      next = iterator.next();
    }
  } finally {
    clearInterval(timer);
    await iterator.return?.();
  }
}

/** What comes first; undefined for the beat. */
function nextOrBeat<R>(next: Promise<R>, setWake: (wake: () => void) => void): Promise<R | undefined> {
  return new Promise((resolve, reject) => {
    setWake(() => resolve(undefined));
    next.then(resolve, reject);
  });
}
