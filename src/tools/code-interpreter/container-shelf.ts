/** The slots of kept containers: assigns them, evicts idle ones, and queues callers, tenants in turn. */

import type { CodeContainer } from '../../ports/hosted-tools/code-runtime.ts';
import type { Linked } from '../../ports/queues/line.ts';
import { TurnQueue } from '../../ports/queues/turn-queue.ts';
import { shareOf } from '../../ports/scope.ts';
import { turns } from './shared/turns.ts';

/** The owner of a container, and which of the owner's. The same id in two scopes is two containers. */
export interface ContainerKey {
  /** The tenant, as the `scope` option returns it. */
  readonly scope: string;
  /** The container's id, unique in its scope. */
  readonly id: string;
}

/** The slot of one key, whose container may not exist yet, or not any more. */
export interface Place {
  /** The scope of the key. */
  readonly name: string;
  readonly scope: string;
  readonly inTurn: ReturnType<typeof turns>;
  /** The files that were put into the container. */
  readonly names: Set<string>;
  container: CodeContainer | undefined;
}

/** All slots. */
interface Shelf {
  /** The slot of the key, which stays until each `enter` has had its `leave`; waits if there is no room. */
  enter(key: ContainerKey, signal: AbortSignal): Promise<Place>;
  leave(place: Place): void;
  /** Aborted by `close`. */
  readonly closed: AbortSignal;
  /** Closes every container in a slot. */
  close(): Promise<void>;
}

/** How long slots are kept, and how many. */
interface ShelfLimits {
  readonly idleMs: number;
  readonly max: number;
  readonly maxPerScope: number;
}

interface Kept extends Place {
  /** Runs in progress or waiting. */
  runs: number;
  expiry: NodeJS.Timeout | undefined;
}

/** A run that waits for a slot. */
interface WaitingRun extends Linked<WaitingRun> {
  readonly tenant: string;
  readonly name: string;
  readonly scope: string;
  readonly start: (place: Place) => void;
  readonly stop: (reason: unknown) => void;
}

/** Runs that wait for a slot, of all tenants; one tenant may have as many as it leaves free. */
const MAX_WAITING = 256;

/** Creates an empty one. */
export function containerShelf(limits: ShelfLimits): Shelf {
  return new ContainerShelf(limits);
}

class ContainerShelf implements Shelf {
  private readonly limits: ShelfLimits;
  // In the order of use: the first has been idle for longest.
  private readonly places = new Map<string, Kept>();
  private readonly queue = new TurnQueue<WaitingRun>();
  /** Those in the queue, by the name of their slot. */
  private readonly waiting = new Map<string, Set<WaitingRun>>();
  private readonly closing = new AbortController();

  constructor(limits: ShelfLimits) {
    this.limits = limits;
  }

  get closed(): AbortSignal {
    return this.closing.signal;
  }

  async enter({ scope, id }: ContainerKey, signal: AbortSignal): Promise<Place> {
    signal.throwIfAborted();
    this.closed.throwIfAborted();
    const name = JSON.stringify([scope, id]);
    const place = this.places.get(name) ?? (this.hasRoom(scope) ? newPlace(name, scope) : undefined);
    // Taken before another caller can evict it.
    return place ? this.taken(place) : this.wait(name, scope, signal);
  }

  leave({ name, scope }: Place): void {
    const place = this.places.get(name);
    if (!place) return;
    place.runs -= 1;
    if (place.runs > 0) return;
    this.rest(place);
    this.giveAway(shareOf(scope));
  }

  async close(): Promise<void> {
    const reason = new Error('The containers are closed.');
    this.closing.abort(reason);
    for (const run of [...this.queue]) run.stop(reason);
    const open = [...this.places.values()];
    for (const place of open) this.drop(place);
    await Promise.allSettled(open.map(({ container }) => container?.close()));
  }

  private wait(name: string, scope: string, signal: AbortSignal): Promise<Place> {
    const tenant = shareOf(scope);
    if (this.queue.sizeOf(tenant) >= MAX_WAITING - this.queue.size)
      throw new Error('Too many runs wait for a container. Try again later.');
    return new Promise((resolve, reject) => {
      const abort = () => run.stop(signal.reason);
      const end = () => signal.removeEventListener('abort', abort);
      const run: WaitingRun = {
        tenant,
        name,
        scope,
        start: (place) => {
          end();
          resolve(place);
        },
        stop: (reason) => {
          end();
          this.queue.remove(run);
          this.forgetWaiting(run);
          reject(reason);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      this.queue.add(run);
      this.waiting.set(name, (this.waiting.get(name) ?? new Set()).add(run));
    });
  }

  private forgetWaiting(run: WaitingRun): void {
    const others = this.waiting.get(run.name);
    others?.delete(run);
    if (others?.size === 0) this.waiting.delete(run.name);
  }

  /** Slots that are free go round between the tenants that wait; this one may take part again. */
  private giveAway(tenant: string): void {
    this.queue.wake(tenant);
    while (this.isFree(this.placesOf(undefined), this.limits.max)) {
      const next = this.queue.next((share) => this.isFree(this.placesOf(share), this.limits.maxPerScope));
      if (!next || !this.hasRoom(next.scope)) return;
      const place = newPlace(next.name, next.scope);
      const runs = [...(this.waiting.get(next.name) ?? [])];
      this.waiting.delete(next.name);
      for (const run of runs) {
        // The first one has left the queue already.
        if (run !== next) this.queue.remove(run);
        run.start(this.taken(place));
      }
    }
  }

  private taken(place: Kept): Kept {
    clearTimeout(place.expiry);
    place.runs += 1;
    this.places.delete(place.name);
    this.places.set(place.name, place);
    return place;
  }

  /** Makes room if one of the containers is idle. */
  private hasRoom(scope: string): boolean {
    const { max, maxPerScope } = this.limits;
    const share = shareOf(scope);
    return this.hasRoomAmong(this.placesOf(share), maxPerScope) && this.hasRoomAmong(this.placesOf(undefined), max);
  }

  /** Those of a tenant, or all. */
  private placesOf(share: string | undefined): readonly Kept[] {
    const all = [...this.places.values()];
    return share === undefined ? all : all.filter((place) => shareOf(place.scope) === share);
  }

  private isFree(kept: readonly Kept[], most: number): boolean {
    return kept.length < most || kept.some(({ runs }) => runs === 0);
  }

  private hasRoomAmong(kept: readonly Kept[], most: number): boolean {
    if (kept.length < most) return true;
    const resting = kept.find(({ runs }) => runs === 0);
    if (resting) this.drop(resting);
    return resting !== undefined;
  }

  private drop(place: Kept): void {
    clearTimeout(place.expiry);
    this.places.delete(place.name);
    // Nobody waits for it; the runtime deals with a container that does not close.
    place.container?.close().catch(() => {});
  }

  private rest(place: Kept): void {
    if (!place.container?.alive) return this.drop(place);
    place.expiry = setTimeout(() => this.drop(place), this.limits.idleMs).unref();
  }
}

function newPlace(name: string, scope: string): Kept {
  return { name, scope, inTurn: turns(), names: new Set(), container: undefined, runs: 0, expiry: undefined };
}
