/** The store of a router: the host's, or that of the process, as requests see it. */
import { tenantStore } from '../../apis/endpoint/tenant-store.ts';
import { boundedStore, type ResponseStore } from '../../ports/store.ts';
import { memoryStore } from '../../stores/memory/memory-store.ts';
import { type PartHealth, watchedStore } from '../requests/health.ts';

let processStore: ResponseStore | undefined;

/** Each of its calls has the time limit, its writes show in the status, and it has nothing for a request without a tenant. */
export function settingsStore(store: ResponseStore | undefined, timeoutMs: number, health: PartHealth): ResponseStore {
  processStore ??= store ? undefined : memoryStore();
  // The cast: one of the two is there.
  return tenantStore(watchedStore(boundedStore(store ?? (processStore as ResponseStore), timeoutMs), health));
}
