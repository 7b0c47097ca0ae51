/** The pooled connection to one MCP server: opened when needed, reopened with backoff, closed when idle. */
import { isRecord } from '../../../protocol/record.ts';
import { type McpCallError, notOpened, unavailable } from './call-error.ts';
import type { McpProtocol } from './client/mcp-client.ts';
import type { McpTransport, ServerSettings } from './server-config.ts';
import { createSession, type Session } from './session.ts';
import type { McpSettings } from './settings.ts';
import { firstWay, otherWay, provenWay, type Way, wayNow } from './way.ts';

/** The state of a connection. `idle`: not connected, connects when next needed. `failed`: retried later. */
export type McpServerState = 'idle' | 'connecting' | 'ready' | 'failed' | 'closed';

/** The state of a connection, its start (milliseconds since the epoch), and the last error, without secrets. */
export interface ConnectionStatus {
  /** Whether the server is connected now. */
  readonly state: McpServerState;
  /** When that state began, in milliseconds since the epoch. */
  readonly since: number;
  /** Why the last attempt failed, without secrets; absent if it succeeded. */
  readonly error?: string;
}

/** The connection to one server; at most one session is current, older ones may still finish their requests. */
export interface Connection {
  /** The current session, opened if there is none; rejects at once while the server is in backoff. */
  session(): Promise<Session>;
  /** Sends no new requests to this session; the next request opens another. */
  retire(session: Session, error: unknown): void;
  readonly status: ConnectionStatus;
  /** How the server is reached: as configured, or over the other transport once the server has turned out to use it. */
  readonly transport: McpTransport;
  /** The protocol that the last session agreed on; undefined before the first one. */
  readonly protocol: McpProtocol | undefined;
  /** Why the last attempt to open it failed; undefined if it succeeded. */
  readonly fault: McpCallError | undefined;
  /** Whether the server is assumed to be reachable: not tried yet, or its last attempt did not fail. */
  readonly available: boolean;
  /** Ends every session, process and socket. May be called twice. */
  close(): Promise<void>;
}

/** The callbacks of a connection's owner. */
interface ConnectionEvents {
  /** Part of connecting: a server that fails this has failed. */
  onOpen(session: Session, signal: AbortSignal): Promise<void>;
  onListChanged(): void;
}

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** Creates a connection that is not open yet. */
export function createConnection(server: ServerSettings, settings: McpSettings, events: ConnectionEvents): Connection {
  return new ServerConnection(server, settings, events);
}

/** A session that is being opened. */
interface Opening {
  readonly session: Promise<Session>;
  readonly controller: AbortController;
}

class ServerConnection implements Connection {
  status: ConnectionStatus = { state: 'idle', since: Date.now() };
  fault: McpCallError | undefined = undefined;
  protocol: McpProtocol | undefined = undefined;
  private readonly server: ServerSettings;
  private readonly settings: McpSettings;
  private readonly events: ConnectionEvents;
  private readonly sessions = new Set<Session>();
  private way: Way;
  private current: Session | undefined = undefined;
  private opening: Opening | undefined = undefined;
  private failures = 0;
  private retryTimer: NodeJS.Timeout | undefined = undefined;
  private idleTimer: NodeJS.Timeout | undefined = undefined;

  constructor(server: ServerSettings, settings: McpSettings, events: ConnectionEvents) {
    this.server = server;
    this.settings = settings;
    this.events = events;
    this.way = firstWay(server);
  }

  get transport(): McpTransport {
    return this.way.server.transport;
  }

  get available(): boolean {
    return this.status.state !== 'closed' && this.failures === 0;
  }

  async session(): Promise<Session> {
    const { state } = this.status;
    if (state === 'closed') throw unavailable(this.server.label);
    if (state === 'failed') throw this.fault ?? unavailable(this.server.label);
    this.postponeIdleEnd();
    return this.open();
  }

  retire(session: Session, error?: unknown): void {
    if (session === this.current) {
      this.current = undefined;
      this.become('idle', error === undefined ? undefined : this.wording(error));
    }
    session.retire();
  }

  async close(): Promise<void> {
    clearTimeout(this.retryTimer);
    clearTimeout(this.idleTimer);
    this.current = undefined;
    if (this.status.state !== 'closed') this.become('closed');
    this.opening?.controller.abort(new Error('The connection was closed.'));
    await Promise.all([...this.sessions].map((session) => session.close()));
  }

  private become(state: McpServerState, error?: string): void {
    this.status = { state, since: Date.now(), ...(error === undefined ? {} : { error }) };
  }

  private open(): Promise<Session> {
    if (this.current) return Promise.resolve(this.current);
    this.opening ??= this.startOpening();
    return this.opening.session;
  }

  private startOpening(): Opening {
    const { connectTimeoutMs } = this.settings;
    const controller = new AbortController();
    const expire = () => controller.abort(new Error(`It did not answer within ${connectTimeoutMs} ms.`));
    const timer = setTimeout(expire, connectTimeoutMs);
    const session = this.openSession(controller.signal).finally(() => {
      clearTimeout(timer);
      this.opening = undefined;
    });
    // Waiting callers get the error; if there are none, `fail` has reported it to the host.
    session.catch(() => {});
    return { session, controller };
  }

  private async openSession(signal: AbortSignal): Promise<Session> {
    this.become('connecting', this.status.error);
    const session = await this.reach(signal);
    try {
      await this.events.onOpen(session, signal);
      signal.throwIfAborted();
    } catch (error) {
      throw this.givenUp(session, error, signal);
    }
    this.current = session;
    this.failures = 0;
    this.fault = undefined;
    this.become('ready');
    this.postponeIdleEnd();
    return session;
  }

  /** Uses the transport and the protocol that the server supports. */
  private async reach(signal: AbortSignal): Promise<Session> {
    this.way = wayNow(this.way);
    const session = this.newSession();
    try {
      this.protocol = await session.open(this.way.beginning, signal);
      this.way = provenWay(this.way, this.protocol);
      return session;
    } catch (error) {
      const other = signal.aborted ? undefined : otherWay(this.way, error);
      if (!other) throw this.givenUp(session, error, signal);
      void session.close();
      this.way = other;
      return this.reach(signal);
    }
  }

  private newSession(): Session {
    const session: Session = createSession(this.way.server, this.settings, {
      onListChanged: () => this.events.onListChanged(),
      onLost: () => this.lose(session),
      onClosed: () => this.sessions.delete(session),
    });
    this.sessions.add(session);
    return session;
  }

  /** Forgets what the server has turned out to support, unless time ran out: the next attempt begins where this one ended. */
  private givenUp(session: Session, error: unknown, signal: AbortSignal): McpCallError {
    void session.close();
    if (!signal.aborted) this.way = firstWay(this.server);
    const reason = signal.aborted ? signal.reason : error;
    this.fault = notOpened(this.server.label, reason);
    this.fail(reason, session.log());
    return this.fault;
  }

  private fail(error: unknown, log: string): void {
    if (this.status.state === 'closed') return;
    const message = this.wording(error);
    this.become('failed', message);
    const pause = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.failures);
    this.failures += 1;
    if (!this.settings.retries) return;
    this.retryTimer = setTimeout(() => void this.open().catch(() => {}), pause).unref();
    if (this.failures === 1) this.warn(`is unavailable and is tried again: ${message}`, log);
  }

  private lose(session: Session): void {
    if (session !== this.current) return;
    this.warn('lost its connection, which is reopened when it is needed.', session.log());
    this.retire(session, new Error('The connection was lost.'));
  }

  private warn(what: string, log: string): void {
    const { label, redact } = this.server;
    const itsLog = log === '' ? '' : ` Its log ends: ${redact.error(log)}`;
    this.settings.warn(`${this.settings.owner}: server '${label}' ${what}${itsLog}`);
  }

  private wording(error: unknown): string {
    return this.server.redact.error(reasonOf(error)).slice(0, 500);
  }

  /** Called when the connection is used. */
  private postponeIdleEnd(): void {
    clearTimeout(this.idleTimer);
    this.idleTimer = setTimeout(() => this.endIfIdle(), this.settings.idleMs).unref();
  }

  private endIfIdle(): void {
    if (this.current?.busy) return this.postponeIdleEnd();
    if (this.current) this.retire(this.current);
  }
}

/** The text of an error; fetch hides the reason in its cause. */
export function reasonOf(error: unknown): string {
  if (!isRecord(error)) return String(error);
  const { message, cause } = error;
  return isRecord(cause) && cause.code !== undefined ? `${message} (${cause.code})` : String(message);
}
