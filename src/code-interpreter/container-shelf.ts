/** The places of containers that are kept: who has one, who must go, and who must wait. */

import type { CodeContainer } from '../ports/code-runtime.ts';
import { shareOf } from '../ports/scope.ts';
import { bell } from './shared/bell.ts';
import { turns } from './shared/turns.ts';

/** Whose container, and which of theirs. The same id in two scopes is two containers. */
export interface ContainerKey {
  readonly scope: string;
  readonly id: string;
}

/** The place of one key, whose container may not be there yet, or not any more. */
export interface Place {
  /** Of the key. */
  readonly name: string;
  readonly scope: string;
  readonly inTurn: ReturnType<typeof turns>;
  /** The files that were put into the container. */
  readonly names: Set<string>;
  container: CodeContainer | undefined;
}

/** All places. */
export interface Shelf {
  /** The place of the key, which stays until each `enter` has had its `leave`; waits where there is no room. */
  enter(key: ContainerKey, signal: AbortSignal): Promise<Place>;
  leave(place: Place): void;
  /** Aborted by `close`. */
  readonly closed: AbortSignal;
  /** Closes every container that is in its place. */
  close(): Promise<void>;
}

/** How long places are kept, and how many. */
interface ShelfLimits {
  readonly idleMs: number;
  readonly max: number;
  readonly maxPerScope: number;
}

interface Kept extends Place {
  /** Runs that go on or wait. */
  runs: number;
  expiry: NodeJS.Timeout | undefined;
}

/** An empty one. */
export function containerShelf({ idleMs, max, maxPerScope }: ShelfLimits): Shelf {
  // In the order of use: the first has rested for longest.
  const places = new Map<string, Kept>();
  const changes = bell();
  const closing = new AbortController();

  function taken(place: Kept): Kept {
    clearTimeout(place.expiry);
    place.runs += 1;
    places.delete(place.name);
    places.set(place.name, place);
    return place;
  }

  function hasRoom(scope: string): boolean {
    const share = shareOf(scope);
    const own = [...places.values()].filter((place) => shareOf(place.scope) === share);
    return hasRoomAmong(own, maxPerScope) && hasRoomAmong([...places.values()], max);
  }

  /** Makes room where one of them rests. */
  function hasRoomAmong(kept: readonly Kept[], most: number): boolean {
    if (kept.length < most) return true;
    const resting = kept.find(({ runs }) => runs === 0);
    if (resting) drop(resting);
    return resting !== undefined;
  }

  function drop(place: Kept): void {
    clearTimeout(place.expiry);
    places.delete(place.name);
    // Nobody waits for it; what will not close is the runtime's to deal with.
    place.container?.close().catch(() => {});
  }

  function rest(place: Kept): void {
    if (!place.container?.alive) return drop(place);
    place.expiry = setTimeout(() => drop(place), idleMs).unref();
  }

  return {
    closed: closing.signal,
    async enter({ scope, id }, signal) {
      const name = JSON.stringify([scope, id]);
      for (;;) {
        signal.throwIfAborted();
        closing.signal.throwIfAborted();
        const place = places.get(name) ?? (hasRoom(scope) ? newPlace(name, scope) : undefined);
        // Taken before anyone else can make it go.
        if (place) return taken(place);
        await changes.rung(signal);
      }
    },
    leave({ name }) {
      const place = places.get(name);
      if (!place) return;
      place.runs -= 1;
      if (place.runs === 0) rest(place);
      changes.ring();
    },
    async close() {
      closing.abort(new Error('The containers are closed.'));
      changes.ring();
      const open = [...places.values()];
      for (const place of open) drop(place);
      await Promise.allSettled(open.map(({ container }) => container?.close()));
    },
  };
}

function newPlace(name: string, scope: string): Kept {
  return { name, scope, inTurn: turns(), names: new Set(), container: undefined, runs: 0, expiry: undefined };
}
