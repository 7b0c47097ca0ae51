/** Loads chains and conversations so that many concurrent requests do not hold more memory than one server has. */

import { FairPlaces } from '../../ports/queues/fair-places.ts';
import { shareOf } from '../../ports/scope.ts';
import {
  bounded,
  type ConversationStore,
  chainOf,
  isRunning,
  placeOf,
  type ResponseKey,
  type ResponseStore,
  type StoredResponse,
  TooManyBytes,
} from '../../ports/store.ts';
import type { Item } from '../../protocol/items.ts';
import { eachOnce } from '../request/item-pages.ts';

/** Anything up to this size is loaded at once, however many requests do so. */
const SMALL_BYTES = 1024 * 1024;
/** Maximum concurrent loads of anything that may be longer, of which a tenant leaves one to the others; the others wait. */
const LARGE_LOADS = 4;

type Chain = readonly StoredResponse[];

/** The chain of `key`, newest first, at most `limit` responses. Throws `TooManyBytes` past `maxBytes`. */
export function loadChain(store: ResponseStore, key: ResponseKey, limit: number, maxBytes: number): Promise<Chain> {
  const tenant = shareOf(key.scope);
  return withinSlots(
    queue(store).hasPlace(tenant),
    maxBytes,
    (bytes) => chainOf(store, key, limit, bytes),
    async (bytes) => {
      const load = () => inPlace(queue(store), tenant, () => chainOf(store, key, limit, bytes));
      const [chain, isOwn] = await shared(store, `${limit}:${bytes}:${placeOf(key)}`, load);
      const [newest] = chain;
      // It may have been stored, or have ended, since another request's load began.
      return isOwn || (newest && !isRunning(newest)) ? chain : load();
    },
  );
}

/**
 * All items of a conversation, oldest first; each request loads them itself, since others may append meanwhile. Throws
 * `TooManyBytes`.
 */
export function loadItems(store: ConversationStore, key: ResponseKey, maxBytes: number): Promise<readonly Item[]> {
  async function load(bytes: number): Promise<readonly Item[]> {
    return eachOnce(bounded(await store.items(key, bytes), bytes));
  }
  const tenant = shareOf(key.scope);
  const places = queue(store);
  return withinSlots(places.hasPlace(tenant), maxBytes, load, (bytes) => inPlace(places, tenant, () => load(bytes)));
}

/**
 * The size is known only after reading. While no place is free, small ones need not wait for those that are large; a large
 * one is then read twice.
 */
async function withinSlots<Loaded>(
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
    if (!(error instanceof TooManyBytes)) throw error;
    return large(maxBytes);
  }
}

const loadsUnderWay = new WeakMap<ResponseStore, Map<string, Promise<Chain>>>();

/** The running load of this name, or a new one; and whether it is new. Its result must not be changed. */
async function shared(
  store: ResponseStore,
  name: string,
  load: () => Promise<Chain>,
): Promise<readonly [chain: Chain, isOwn: boolean]> {
  const loads = made(loadsUnderWay, store, () => new Map<string, Promise<Chain>>());
  const other = loads.get(name);
  if (other) return [await other, false];
  const own = load().finally(() => loads.delete(name));
  loads.set(name, own);
  return [await own, true];
}

const queues = new WeakMap<object, FairPlaces>();

function queue(store: object): FairPlaces {
  return made(queues, store, () => new FairPlaces({ places: LARGE_LOADS, waiting: Number.POSITIVE_INFINITY }));
}

/** Runs the load when its tenant has a place. */
async function inPlace<Result>(places: FairPlaces, tenant: string, load: () => Promise<Result>): Promise<Result> {
  await places.enter(tenant);
  try {
    return await load();
  } finally {
    places.leave(tenant);
  }
}

function made<Key extends object, Value>(values: WeakMap<Key, Value>, key: Key, make: () => Value): Value {
  const value = values.get(key) ?? make();
  values.set(key, value);
  return value;
}
