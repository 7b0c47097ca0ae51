/** The connections to remote servers: shared by key, bounded, and closed when nobody has used them for a while. */

import { shareOf } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { RemoteConnection } from './remote-connection.ts';
import type { PoolLimits } from './remote-options.ts';

/** Whose connection it is. */
export interface PoolKey {
  /** The same for the same server and scope. */
  readonly id: string;
  readonly scope: string;
}

/** Hands out connections; one that failed is replaced at its next use. */
export interface RemotePool {
  /**
   * Runs with a connection, which stays open at least until the work is done. Throws `too_many_mcp_servers` where all are
   * in use, and `server_draining` after `close`.
   */
  use<Result>(
    key: PoolKey,
    create: () => RemoteConnection,
    work: (connection: RemoteConnection) => Promise<Result>,
  ): Promise<Result>;
  /** Ends every connection. May be called twice. */
  close(): Promise<void>;
}

interface Entry extends PoolKey {
  readonly connection: RemoteConnection;
  users: number;
  idleTimer?: NodeJS.Timeout;
}

/** An empty pool. */
export function remotePool({ maxServers, maxServersPerScope, idleMs }: PoolLimits): RemotePool {
  /** The one that was not used for longest comes first. */
  const entries = new Map<string, Entry>();
  const endings = new Set<Promise<void>>();
  let closed = false;

  function entryFor(key: PoolKey, create: () => RemoteConnection): Entry {
    if (closed) throw new ApiError('server_draining', 'The server is shutting down.');
    const known = entries.get(key.id);
    if (known && !known.connection.failed) return known;
    if (known) drop(known);
    makeRoom(key.scope);
    return { ...key, connection: create(), users: 0 };
  }

  function makeRoom(scope: string): void {
    const all = [...entries.values()];
    const share = shareOf(scope);
    const own = all.filter((entry) => shareOf(entry.scope) === share);
    if (own.length >= maxServersPerScope) return dropUnused(own);
    if (all.length >= maxServers) dropUnused(all);
  }

  function dropUnused(candidates: readonly Entry[]): void {
    const unused = candidates.find(({ users }) => users === 0);
    if (!unused)
      throw new ApiError('too_many_mcp_servers', 'As many MCP servers are in use as may be. Try again later.');
    drop(unused);
  }

  function drop(entry: Entry): void {
    clearTimeout(entry.idleTimer);
    if (entries.get(entry.id) === entry) entries.delete(entry.id);
    const ending = entry.connection.close().finally(() => endings.delete(ending));
    endings.add(ending);
  }

  function take(entry: Entry): void {
    clearTimeout(entry.idleTimer);
    entry.users += 1;
    entries.delete(entry.id);
    entries.set(entry.id, entry);
  }

  function release(entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0 || entries.get(entry.id) !== entry) return;
    if (entry.connection.failed) return drop(entry);
    entry.idleTimer = setTimeout(() => drop(entry), idleMs).unref();
  }

  return {
    async use(key, create, work) {
      const entry = entryFor(key, create);
      take(entry);
      try {
        return await work(entry.connection);
      } finally {
        release(entry);
      }
    },
    async close() {
      closed = true;
      for (const entry of entries.values()) drop(entry);
      await Promise.all(endings);
    },
  };
}
