/** Tasks that must run one after another. */

/** Returns a function that starts each task when the one before has ended, successfully or not. */
export function turns(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve();
  return function inTurn(work) {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
}
