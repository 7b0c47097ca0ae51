/** Connections of tenants to servers: shared by key, limited in number, and closed when unused for a while. */

import { limitScope } from '../../../ports/scope.ts';
import { ApiError } from '../../../protocol/errors.ts';

/** Limits the connections, and how long they are kept unused, in milliseconds. */
export interface PoolLimits {
  readonly maxServers: number;
  readonly maxServersPerScope: number;
  readonly idleMs: number;
}

/** A connection that a pool keeps. */
export interface PooledConnection {
  /** Whether it is of no more use. */
  readonly failed: boolean;
  /** May be called twice. */
  close(): Promise<void>;
}

/** The scope that owns the connection. */
export interface PoolKey {
  /** Equal for the same server and scope. */
  readonly id: string;
  readonly scope: string;
}

interface Entry<Connection> extends PoolKey {
  readonly connection: Connection;
  users: number;
  idleTimer?: NodeJS.Timeout;
}

/** Provides connections; one that failed is replaced at its next use. */
export class ConnectionPool<Connection extends PooledConnection> {
  private readonly limits: PoolLimits;
  /** The least recently used connection comes first. */
  private readonly entries = new Map<string, Entry<Connection>>();
  private readonly endings = new Set<Promise<void>>();
  private closed = false;

  constructor(limits: PoolLimits) {
    this.limits = limits;
  }

  /**
   * Runs the work with a connection, which stays open at least until the work ends. Throws `too_many_mcp_servers` if all are
   * in use, and `server_draining` after `close`.
   */
  async use<Result>(
    key: PoolKey,
    create: () => Connection,
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result> {
    const entry = this.entryFor(key, create);
    clearTimeout(entry.idleTimer);
    entry.users += 1;
    this.entries.delete(entry.id);
    this.entries.set(entry.id, entry);
    try {
      return await work(entry.connection);
    } finally {
      this.release(entry);
    }
  }

  /** Ends every connection. May be called twice. */
  async close(): Promise<void> {
    this.closed = true;
    for (const entry of this.entries.values()) this.drop(entry);
    await Promise.all(this.endings);
  }

  private entryFor(key: PoolKey, create: () => Connection): Entry<Connection> {
    if (this.closed) throw new ApiError('server_draining', 'The server is shutting down.');
    const current = this.entries.get(key.id);
    if (current && !current.connection.failed) return current;
    if (current) this.drop(current);
    this.evictForScope(key.scope);
    return { ...key, connection: create(), users: 0 };
  }

  private evictForScope(scope: string): void {
    const { maxServers, maxServersPerScope } = this.limits;
    const all = [...this.entries.values()];
    const share = limitScope(scope);
    const inScope = all.filter((entry) => limitScope(entry.scope) === share);
    if (inScope.length >= maxServersPerScope) return this.dropUnused(inScope);
    if (all.length >= maxServers) this.dropUnused(all);
  }

  private dropUnused(candidates: readonly Entry<Connection>[]): void {
    const unused = candidates.find(({ users }) => users === 0);
    if (!unused) throw new ApiError('too_many_mcp_servers', 'Too many MCP servers are in use. Try again later.');
    this.drop(unused);
  }

  private drop(entry: Entry<Connection>): void {
    clearTimeout(entry.idleTimer);
    if (this.entries.get(entry.id) === entry) this.entries.delete(entry.id);
    const ending = entry.connection.close().finally(() => this.endings.delete(ending));
    this.endings.add(ending);
  }

  private release(entry: Entry<Connection>): void {
    entry.users -= 1;
    if (entry.users > 0 || this.entries.get(entry.id) !== entry) return;
    if (entry.connection.failed) return this.drop(entry);
    entry.idleTimer = setTimeout(() => this.drop(entry), this.limits.idleMs).unref();
  }
}
