/** The memory of one connection: its newest turns, including those that the client does not want stored. */

import { loadChain } from '../../engine/history/load-chain.ts';
import type { MemoryBudget } from '../../ports/queues/room.ts';
import type { ResponseKey, ResponseStore, StoredResponse } from '../../ports/store.ts';
import { tooManyBytes } from '../../ports/store-error.ts';
import { isResponseId } from '../../protocol/ids.ts';

/** The limits of one connection's memory; the bytes are those of JSON. */
export interface MemorySettings {
  /** The host's option: with `continue` the client receives no error of a failed store, and continues from this memory. */
  readonly onStoreError: 'fail' | 'continue';
  /** Number of responses that can be continued. */
  readonly turns: number;
  /** The bytes of all of them, with everything before them. */
  readonly bytes: number;
  /** What all connections may hold. */
  readonly room: MemoryBudget;
  readonly scope: string;
}

/** The memory of one connection, in front of the host's store. It belongs to one scope. */
export interface ConnectionMemory {
  /** Begins a turn. */
  turn(): TurnMemory;
  /** Makes the response impossible to continue from here. Turns that already continue it keep its content. */
  forget(id: unknown): void;
  /** Forgets everything, and what turns that still run will add. */
  close(): void;
}

/** The memory as one turn sees it. */
interface TurnMemory {
  /** Looks here first, and passes on to the host's store what the client wants stored. */
  readonly store: ResponseStore;
  /** Whether the turn has ended so that it can be continued. */
  readonly canContinue: boolean;
}

/** A turn with the one it continues, so that dropping the older one's id never cuts the newer one's history. */
interface Remembered {
  readonly stored: StoredResponse;
  readonly before: Remembered | undefined;
  readonly bytes: number;
}

/** Creates an empty memory. */
export function connectionMemory(host: ResponseStore, settings: MemorySettings): ConnectionMemory {
  // A Map keeps insertion order, so its first entry is the oldest.
  const newest = new Map<string, Remembered>();
  const { scope, room } = settings;
  const member = { scope, forgetOldest: () => forget(newest.keys().next().value) };
  let isClosed = false;

  function remember(stored: StoredResponse, before: Remembered | undefined): void {
    if (isClosed) return;
    newest.set(stored.id, { stored, before, bytes: Buffer.byteLength(JSON.stringify(stored)) });
    for (const id of newest.keys()) {
      if (newest.size <= settings.turns && countBytes(newest.values()) <= settings.bytes) break;
      newest.delete(id);
    }
    room.hold(member, countBytes(newest.values()));
    room.makeRoom();
  }

  function forget(id: unknown): void {
    if (newest.delete(String(id))) room.hold(member, countBytes(newest.values()));
  }

  function close(): void {
    isClosed = true;
    newest.clear();
    room.hold(member, 0);
  }

  function turn(): TurnMemory {
    // Recorded when the turn begins, because it may be forgotten while the turn runs.
    let before: Remembered | undefined;
    let canContinue = false;

    function get(key: ResponseKey) {
      return newest.get(key.id)?.stored ?? host.get(key);
    }

    function chain(key: ResponseKey, limit: number, maxBytes = Number.POSITIVE_INFINITY) {
      before = newest.get(key.id);
      return readChain(before, host, key, { limit, maxBytes });
    }

    async function put(stored: StoredResponse): Promise<void> {
      if (!isResponseId(stored.id)) return host.put(stored);
      let failure: { readonly reason: unknown } | undefined;
      try {
        if (stored.resource.store !== false) await host.put(stored);
      } catch (reason) {
        failure = { reason };
      }
      canContinue = failure === undefined || settings.onStoreError === 'continue';
      if (canContinue) remember(stored, before);
      if (failure) throw failure.reason;
    }

    return {
      store: { ...host, get, chain, put },
      get canContinue() {
        return canContinue;
      },
    };
  }

  return { turn, forget, close };
}

/** The remembered turns, newest first, then those in the host's store. Throws a `StoreError` (`too_many_bytes`). */
async function readChain(
  newest: Remembered | undefined,
  host: ResponseStore,
  key: ResponseKey,
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes: number },
): Promise<readonly StoredResponse[]> {
  const chain: StoredResponse[] = [];
  let left = maxBytes;
  for (let turn = newest; turn && chain.length < limit; turn = turn.before) {
    left -= turn.bytes;
    if (left < 0) throw tooManyBytes(maxBytes);
    chain.push(turn.stored);
  }
  const oldest = chain.at(-1);
  const id = oldest ? oldest.previousId : key.id;
  if (id === undefined || chain.length === limit) return chain;
  return [...chain, ...(await loadChain(host, { scope: key.scope, id }, limit - chain.length, left))];
}

/** The bytes of all turns; a turn that several turns continue counts once. */
function countBytes(turns: Iterable<Remembered>): number {
  const counted = new Set<Remembered>();
  let bytes = 0;
  for (const newest of turns) {
    for (let turn: Remembered | undefined = newest; turn && !counted.has(turn); turn = turn.before) {
      counted.add(turn);
      bytes += turn.bytes;
    }
  }
  return bytes;
}
