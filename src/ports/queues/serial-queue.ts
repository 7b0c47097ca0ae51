/** Tasks that must run one after another. */

/** Returns a function that starts each task when the one before has ended, successfully or not. */
export function serialQueue(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve();
  return function enqueue(work) {
    const task = last.then(work, work);
    last = task;
    return task;
  };
}
