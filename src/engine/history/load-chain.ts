/** Loads chains and conversations so that many concurrent requests do not hold more memory than one server has. */

import { FairSlots } from '../../ports/queues/fair-places.ts';
import { limitScope } from '../../ports/scope.ts';
import {
  type ConversationStore,
  checkListBytes,
  isRunning,
  type ResponseKey,
  type ResponseStore,
  readChain,
  type StoredResponse,
  storeKey,
} from '../../ports/store.ts';
import { isStoreError } from '../../ports/store-error.ts';
import type { Item } from '../../protocol/items.ts';
import { withoutRepeatedIds } from '../request/item-pages.ts';

/** Anything up to this size is loaded at once, however many requests do so. */
const SMALL_BYTES = 1024 * 1024;
/** Maximum concurrent loads of anything that may be longer, of which a tenant leaves one to the others; the others wait. */
const MAX_LARGE_LOADS = 4;

type Chain = readonly StoredResponse[];

/** The chain of `key`, newest first, at most `limit` responses. Throws a `StoreError` (`too_many_bytes`) past `maxBytes`. */
export function loadChain(store: ResponseStore, key: ResponseKey, limit: number, maxBytes: number): Promise<Chain> {
  const tenant = limitScope(key.scope);
  const places = loadPlaces(store);
  return loadBySize(
    places.hasPlace(tenant),
    maxBytes,
    (bytes) => readChain(store, key, limit, bytes),
    async (bytes) => {
      const load = () => loadInPlace(places, tenant, () => readChain(store, key, limit, bytes));
      const [chain, isOwn] = await joinLoad(store, `${limit}:${bytes}:${storeKey(key)}`, load);
      const [newest] = chain;
      // It may have been stored, or have ended, since another request's load began.
      return isOwn || (newest && !isRunning(newest)) ? chain : load();
    },
  );
}

/**
 * All items of a conversation, oldest first; each request loads them itself, since others may append meanwhile. Throws
 * a `StoreError` (`too_many_bytes`).
 */
export function loadItems(store: ConversationStore, key: ResponseKey, maxBytes: number): Promise<readonly Item[]> {
  async function load(bytes: number): Promise<readonly Item[]> {
    return withoutRepeatedIds(checkListBytes(await store.items(key, bytes), bytes));
  }
  const tenant = limitScope(key.scope);
  const places = loadPlaces(store);
  return loadBySize(places.hasPlace(tenant), maxBytes, load, (bytes) => loadInPlace(places, tenant, () => load(bytes)));
}

/**
 * The size is known only after reading. While no place is free, small ones need not wait for those that are large; a large
 * one is then read twice.
 */
async function loadBySize<Loaded>(
  hasPlace: boolean,
  maxBytes: number,
  small: (maxBytes: number) => Promise<Loaded>,
  large: (maxBytes: number) => Promise<Loaded>,
): Promise<Loaded> {
  if (maxBytes <= SMALL_BYTES) return small(maxBytes);
  if (hasPlace) return large(maxBytes);
  try {
    return await small(SMALL_BYTES);
  } catch (error) {
    if (!isStoreError(error, 'too_many_bytes')) throw error;
    return large(maxBytes);
  }
}

const loadsUnderWay = new WeakMap<ResponseStore, Map<string, Promise<Chain>>>();

/** The running load of this name, or a new one; and whether it is new. Its result must not be changed. */
async function joinLoad(
  store: ResponseStore,
  name: string,
  load: () => Promise<Chain>,
): Promise<readonly [chain: Chain, isOwn: boolean]> {
  const loads = loadsUnderWay.get(store) ?? new Map<string, Promise<Chain>>();
  loadsUnderWay.set(store, loads);
  const other = loads.get(name);
  if (other) return [await other, false];
  const own = load().finally(() => loads.delete(name));
  loads.set(name, own);
  return [await own, true];
}

const placesOfStores = new WeakMap<object, FairSlots>();

/** The places of large loads from a store. */
function loadPlaces(store: object): FairSlots {
  const places =
    placesOfStores.get(store) ?? new FairSlots({ places: MAX_LARGE_LOADS, waiting: Number.POSITIVE_INFINITY });
  placesOfStores.set(store, places);
  return places;
}

/** Runs the load when its tenant has a place. */
async function loadInPlace<Result>(places: FairSlots, tenant: string, load: () => Promise<Result>): Promise<Result> {
  await places.enter(tenant);
  try {
    return await load();
  } finally {
    places.leave(tenant);
  }
}
