/** The store of a router, whose last write the status shows. */
import type { MaybePromise, ResponseStore } from '../ports/store.ts';
import { isPromise } from '../protocol/record.ts';
import type { Vital } from './vitals.ts';

/** The same store. A read may succeed where a write fails, as on a full disk; failures are noted where they are reported. */
export function watchedStore(store: ResponseStore, vital: Vital): ResponseStore {
  const wrote = () => vital.succeeded();
  return { ...store, put: (response) => after(store.put(response), wrote) };
}

function after(answer: MaybePromise<void>, done: () => void): MaybePromise<void> {
  if (isPromise(answer)) return answer.then(done);
  return done();
}
