/** The slots of kept containers: assigns them, evicts idle ones, and queues callers. */

import type { CodeContainer } from '../ports/hosted-tools/code-runtime.ts';
import { shareOf } from '../ports/scope.ts';
import { bell } from './shared/bell.ts';
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

/** Creates an empty one. */
export function containerShelf(limits: ShelfLimits): Shelf {
  return new ContainerShelf(limits);
}

class ContainerShelf implements Shelf {
  private readonly limits: ShelfLimits;
  // In the order of use: the first has been idle for longest.
  private readonly places = new Map<string, Kept>();
  private readonly changes = bell();
  private readonly closing = new AbortController();

  constructor(limits: ShelfLimits) {
    this.limits = limits;
  }

  get closed(): AbortSignal {
    return this.closing.signal;
  }

  async enter({ scope, id }: ContainerKey, signal: AbortSignal): Promise<Place> {
    const name = JSON.stringify([scope, id]);
    for (;;) {
      signal.throwIfAborted();
      this.closed.throwIfAborted();
      const place = this.places.get(name) ?? (this.hasRoom(scope) ? newPlace(name, scope) : undefined);
      // Taken before another caller can evict it.
      if (place) return this.taken(place);
      await this.changes.rung(signal);
    }
  }

  leave({ name }: Place): void {
    const place = this.places.get(name);
    if (!place) return;
    place.runs -= 1;
    if (place.runs === 0) this.rest(place);
    this.changes.ring();
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('The containers are closed.'));
    this.changes.ring();
    const open = [...this.places.values()];
    for (const place of open) this.drop(place);
    await Promise.allSettled(open.map(({ container }) => container?.close()));
  }

  private taken(place: Kept): Kept {
    clearTimeout(place.expiry);
    place.runs += 1;
    this.places.delete(place.name);
    this.places.set(place.name, place);
    return place;
  }

  private hasRoom(scope: string): boolean {
    const share = shareOf(scope);
    const all = [...this.places.values()];
    const own = all.filter((place) => shareOf(place.scope) === share);
    const { max, maxPerScope } = this.limits;
    return this.hasRoomAmong(own, maxPerScope) && this.hasRoomAmong([...this.places.values()], max);
  }

  /** Makes room if one of the containers is idle. */
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
