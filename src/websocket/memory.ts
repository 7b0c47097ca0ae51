/** What one connection remembers by itself: its newest turns, those too that the client does not want stored. */

import { loadChain } from '../history/load-chain.ts';
import {
  type MaybePromise,
  type ResponseKey,
  type ResponseStore,
  type StoredResponse,
  TooManyBytes,
} from '../ports/store.ts';
import { isResponseId } from '../protocol/ids.ts';

/** How much one connection may hold; the bytes are those of JSON. */
export interface MemorySettings {
  /** As the client is told: with `continue` it learns nothing of a store that failed, and goes on here. */
  readonly onStoreError: 'fail' | 'continue';
  /** Responses that can be continued. */
  readonly turns: number;
  /** All of them with everything said before. */
  readonly bytes: number;
}

/** The memory of one connection, in front of the host's store. It is of one scope. */
export interface ConnectionMemory {
  /** Begins a turn. */
  turn(): TurnMemory;
  /** The response can no longer be continued from here. What continued it already still knows it. */
  forget(id: unknown): void;
}

/** The memory as one turn sees it. */
interface TurnMemory {
  /** Looks here first, and hands on to the host's store what the client wants stored. */
  readonly store: ResponseStore;
  /** Whether the turn has ended so that it can be continued. */
  readonly kept: boolean;
}

/** A turn with what it continues, so that dropping the older one's id never cuts the newer one's past. */
interface Remembered {
  readonly stored: StoredResponse;
  readonly before: Remembered | undefined;
  readonly bytes: number;
}

/** Makes an empty memory. */
export function connectionMemory(host: ResponseStore, settings: MemorySettings): ConnectionMemory {
  // A Map keeps the order of insertion, so its front is the oldest.
  const newest = new Map<string, Remembered>();

  function remember(stored: StoredResponse, before: Remembered | undefined): void {
    newest.set(stored.id, { stored, before, bytes: Buffer.byteLength(JSON.stringify(stored)) });
    for (const id of newest.keys()) {
      if (newest.size <= settings.turns && bytesOf(newest.values()) <= settings.bytes) return;
      newest.delete(id);
    }
  }

  function turn(): TurnMemory {
    // Noted when the turn begins: it may be forgotten while the turn runs.
    let before: Remembered | undefined;
    let kept = false;

    function get(key: ResponseKey) {
      return newest.get(key.id)?.stored ?? host.get(key);
    }

    function chain(key: ResponseKey, limit: number, maxBytes = Number.POSITIVE_INFINITY) {
      before = newest.get(key.id);
      return chainFrom(before, host, key, { limit, maxBytes });
    }

    async function put(stored: StoredResponse): Promise<void> {
      if (!isResponseId(stored.id)) return host.put(stored);
      const failure = stored.resource.store === false ? undefined : await attempt(() => host.put(stored));
      kept = failure === undefined || settings.onStoreError === 'continue';
      if (kept) remember(stored, before);
      if (failure) throw failure.reason;
    }

    return {
      store: { ...host, get, chain, put },
      get kept() {
        return kept;
      },
    };
  }

  return { turn, forget: (id) => void newest.delete(String(id)) };
}

/** Why it failed; undefined where it did not. */
async function attempt(act: () => MaybePromise<void>): Promise<{ readonly reason: unknown } | undefined> {
  try {
    await act();
    return undefined;
  } catch (reason) {
    return { reason };
  }
}

/** The turns remembered, newest first, and before them what the host has. Throws `TooManyBytes`. */
async function chainFrom(
  newest: Remembered | undefined,
  host: ResponseStore,
  key: ResponseKey,
  { limit, maxBytes }: { readonly limit: number; readonly maxBytes: number },
): Promise<readonly StoredResponse[]> {
  const chain: StoredResponse[] = [];
  let left = maxBytes;
  for (let turn = newest; turn && chain.length < limit; turn = turn.before) {
    left -= turn.bytes;
    if (left < 0) throw new TooManyBytes(maxBytes);
    chain.push(turn.stored);
  }
  const oldest = chain.at(-1);
  const id = oldest ? oldest.previousId : key.id;
  if (id === undefined || chain.length === limit) return chain;
  return [...chain, ...(await loadChain(host, { scope: key.scope, id }, limit - chain.length, left))];
}

/** What they hold together: a turn that several continue counts once. */
function bytesOf(turns: Iterable<Remembered>): number {
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
