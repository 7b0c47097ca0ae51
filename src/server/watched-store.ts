/** The store of a router, whose last write the status shows. */
import type { ResponseStore } from '../ports/store.ts';
import { andThen } from '../protocol/record.ts';
import type { Vital } from './vitals.ts';

/** The same store. A read may succeed where a write fails, as on a full disk; failures are noted where they are reported. */
export function watchedStore(store: ResponseStore, vital: Vital): ResponseStore {
  const wrote = () => vital.succeeded();
  return { ...store, put: (response) => andThen(store.put(response), wrote) };
}
