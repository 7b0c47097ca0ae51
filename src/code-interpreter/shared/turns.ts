/** Work that must be done one after another. */

/** Answers a function that starts each work when the one before has ended, well or not. */
export function turns(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve();
  return function inTurn(work) {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
}
