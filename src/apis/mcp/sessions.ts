/** The sessions of clients that speak the older era of MCP: each belongs to one tenant, and no tenant can fill the places of the others. */
import type { Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { type Linked, LinkedQueue } from '../../ports/queues/line.ts';
import { ApiError } from '../../protocol/errors.ts';
import { randomSeed } from '../../protocol/ids.ts';
import type { Exchange } from './exchange.ts';
import type { McpLimits } from './settings.ts';

/** One session. */
export class Session implements Linked<Session> {
  line: object | undefined = undefined;
  before: Session | undefined = undefined;
  after: Session | undefined = undefined;
  readonly id: string;
  readonly scope: string;
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** From which the container of its code has its id. */
  readonly seed = randomSeed();
  /** Whether code has run in that container. */
  hasContainer = false;
  /** Its requests that wait for their answers, by the client's ids. */
  readonly open = new Map<unknown, Exchange>();
  usedAt = 0;

  constructor(id: string, scope: string, server: Server, transport: WebStandardStreamableHTTPServerTransport) {
    this.id = id;
    this.scope = scope;
    this.server = server;
    this.transport = transport;
  }

  /** Registers a request until its end; then the SDK forgets one that is not answered. Throws for an id that waits for its answer. */
  begin(id: unknown, exchange: Exchange): void {
    if (this.open.has(id)) throw new ApiError('invalid_value', 'A request with this id is not answered yet.');
    this.open.set(id, exchange);
    exchange.whenEnded(() => {
      this.open.delete(id);
      if (!exchange.signal.aborted) return;
      // Stops the tool, or the question to the user.
      const cancelled = { method: 'notifications/cancelled', params: { requestId: id, reason: 'The client left.' } };
      this.transport.onmessage?.({ jsonrpc: '2.0', ...cancelled });
      // Without an answer the transport would remember the request as long as the session; it cannot send this one.
      const error = { code: -32_000, message: 'The request was cancelled.' };
      // The cast: the SDK has checked that it is an id.
      this.transport.send({ jsonrpc: '2.0', id: id as string | number, error }).catch(() => {});
    });
  }

  /** Ends all that runs in it. */
  close(): void {
    for (const exchange of this.open.values()) exchange.abort(new Error('The session has ended.'));
    this.server.close().catch(() => {});
  }
}

/** All of them, the longest unused of a tenant first. */
export class Sessions {
  private readonly limits: McpLimits;
  private readonly byId = new Map<string, Session>();
  private readonly byScope = new Map<string, LinkedQueue<Session>>();

  constructor(limits: McpLimits) {
    this.limits = limits;
  }

  get size(): number {
    return this.byId.size;
  }

  /** The tenant's session; undefined for that of another tenant, and for one that was unused for too long. */
  find(scope: string, id: string): Session | undefined {
    const session = this.byId.get(id);
    if (!session || session.scope !== scope) return undefined;
    if (this.isExpired(session)) {
      this.end(session);
      return undefined;
    }
    session.usedAt = Date.now();
    this.byScope.get(scope)?.remove(session);
    this.byScope.get(scope)?.add(session);
    return session;
  }

  /** Adds one, for which unused ones make room: of the same tenant, or of the tenant that has most. Throws `too_many_streams` if all are in use. */
  add(session: Session): void {
    const { maxSessions, maxSessionsPerScope } = this.limits;
    const own = this.byScope.get(session.scope);
    if (own && own.size >= maxSessionsPerScope) this.endUnused(own);
    if (this.byId.size >= maxSessions) {
      for (const each of [...this.byId.values()]) if (this.isExpired(each)) this.end(each);
      let largest: LinkedQueue<Session> | undefined;
      for (const line of this.byScope.values()) if (line.size > (largest?.size ?? 0)) largest = line;
      if (this.byId.size >= maxSessions) this.endUnused(largest);
    }
    session.usedAt = Date.now();
    this.byId.set(session.id, session);
    const line = this.byScope.get(session.scope) ?? new LinkedQueue<Session>();
    this.byScope.set(session.scope, line);
    line.add(session);
  }

  end(session: Session): void {
    if (!this.byId.delete(session.id)) return;
    const line = this.byScope.get(session.scope);
    line?.remove(session);
    if (line?.size === 0) this.byScope.delete(session.scope);
    session.close();
  }

  endAll(): void {
    for (const session of [...this.byId.values()]) this.end(session);
  }

  private isExpired({ open, usedAt }: Session): boolean {
    return open.size === 0 && Date.now() - usedAt > this.limits.sessionIdleMs;
  }

  private endUnused(line: LinkedQueue<Session> | undefined): void {
    let unused = line?.first;
    while (unused && unused.open.size > 0) unused = unused.after;
    if (!unused) throw new ApiError('too_many_streams', 'Too many sessions are in use. End one, or try again later.');
    this.end(unused);
  }
}
