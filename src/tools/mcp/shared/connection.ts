/** The pooled connection to one MCP server: opened when needed, reopened with backoff, closed when idle. */
import { isRecord } from '../../../protocol/record.ts';
import { type McpCallError, openingError, unavailableError } from './call-error.ts';
import type { McpProtocol } from './client/mcp-client.ts';
import type { McpTransport, ServerSettings } from './server-config.ts';
import { Session } from './session.ts';
import type { McpSettings } from './settings.ts';
import {
  alternativeTransport,
  confirmedTransport,
  currentTransport,
  initialTransport,
  type TransportChoice,
} from './transport-choice.ts';

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

/** The callbacks of a connection's owner. */
interface ConnectionEvents {
  /** Part of connecting: a server that fails this has failed. */
  onOpen(session: Session, signal: AbortSignal): Promise<void>;
  onListChanged(): void;
}

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;

/** A session that is being opened. */
interface Opening {
  readonly session: Promise<Session>;
  readonly controller: AbortController;
}

/** The connection to one server, not open at first; at most one session is current, older ones may still finish their requests. */
export class Connection {
  status: ConnectionStatus = { state: 'idle', since: Date.now() };
  /** Why the last attempt to open it failed; undefined if it succeeded. */
  fault: McpCallError | undefined = undefined;
  /** The protocol that the last session agreed on; undefined before the first one. */
  protocol: McpProtocol | undefined = undefined;
  private readonly server: ServerSettings;
  private readonly settings: McpSettings;
  private readonly events: ConnectionEvents;
  private readonly sessions = new Set<Session>();
  private choice: TransportChoice;
  private current: Session | undefined = undefined;
  private opening: Opening | undefined = undefined;
  private failures = 0;
  private retryTimer: NodeJS.Timeout | undefined = undefined;
  private idleTimer: NodeJS.Timeout | undefined = undefined;

  constructor(server: ServerSettings, settings: McpSettings, events: ConnectionEvents) {
    this.server = server;
    this.settings = settings;
    this.events = events;
    this.choice = initialTransport(server);
  }

  /** How the server is reached: as configured, or over the other transport once the server has turned out to use it. */
  get transport(): McpTransport {
    return this.choice.server.transport;
  }

  /** Whether the server is assumed to be reachable: not tried yet, or its last attempt did not fail. */
  get available(): boolean {
    return this.status.state !== 'closed' && this.failures === 0;
  }

  /** The current session, opened if there is none; rejects at once while the server is in backoff. */
  async session(): Promise<Session> {
    const { state } = this.status;
    if (state === 'closed') throw unavailableError(this.server.label);
    if (state === 'failed') throw this.fault ?? unavailableError(this.server.label);
    this.postponeIdleEnd();
    return this.open();
  }

  /** Sends no new requests to this session; the next request opens another. */
  retire(session: Session, error?: unknown): void {
    if (session === this.current) {
      this.current = undefined;
      this.setState('idle', error === undefined ? undefined : this.errorText(error));
    }
    session.retire();
  }

  /** Ends every session, process and socket. May be called twice. */
  async close(): Promise<void> {
    clearTimeout(this.retryTimer);
    clearTimeout(this.idleTimer);
    this.current = undefined;
    if (this.status.state !== 'closed') this.setState('closed');
    this.opening?.controller.abort(new Error('The connection was closed.'));
    await Promise.all([...this.sessions].map((session) => session.close()));
  }

  private setState(state: McpServerState, error?: string): void {
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
    this.setState('connecting', this.status.error);
    const session = await this.openOverTransport(signal);
    try {
      await this.events.onOpen(session, signal);
      signal.throwIfAborted();
    } catch (error) {
      throw this.failOpening(session, error, signal);
    }
    this.current = session;
    this.failures = 0;
    this.fault = undefined;
    this.setState('ready');
    this.postponeIdleEnd();
    return session;
  }

  /** Uses the transport and the protocol that the server supports. */
  private async openOverTransport(signal: AbortSignal): Promise<Session> {
    this.choice = currentTransport(this.choice);
    const session = this.newSession();
    try {
      this.protocol = await session.open(this.choice.beginning, signal);
      this.choice = confirmedTransport(this.choice, this.protocol);
      return session;
    } catch (error) {
      const other = signal.aborted ? undefined : alternativeTransport(this.choice, error);
      if (!other) throw this.failOpening(session, error, signal);
      void session.close();
      this.choice = other;
      return this.openOverTransport(signal);
    }
  }

  private newSession(): Session {
    const session: Session = new Session(this.choice.server, this.settings, {
      onListChanged: () => this.events.onListChanged(),
      onLost: () => this.onSessionLost(session),
      onClosed: () => this.sessions.delete(session),
    });
    this.sessions.add(session);
    return session;
  }

  /** Forgets what the server has turned out to support, unless time ran out: the next attempt begins where this one ended. */
  private failOpening(session: Session, error: unknown, signal: AbortSignal): McpCallError {
    void session.close();
    if (!signal.aborted) this.choice = initialTransport(this.server);
    const reason = signal.aborted ? signal.reason : error;
    this.fault = openingError(this.server.label, reason);
    this.fail(reason, session.log());
    return this.fault;
  }

  private fail(error: unknown, log: string): void {
    if (this.status.state === 'closed') return;
    const message = this.errorText(error);
    this.setState('failed', message);
    const pause = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.failures);
    this.failures += 1;
    if (!this.settings.retries) return;
    this.retryTimer = setTimeout(() => void this.open().catch(() => {}), pause).unref();
    if (this.failures === 1) this.warn(`is unavailable and is tried again: ${message}`, log);
  }

  private onSessionLost(session: Session): void {
    if (session !== this.current) return;
    this.warn('lost its connection, which is reopened when it is needed.', session.log());
    this.retire(session, new Error('The connection was lost.'));
  }

  private warn(what: string, log: string): void {
    const { label, redact } = this.server;
    const logEnd = log === '' ? '' : ` Its log ends: ${redact.error(log)}`;
    this.settings.warn(`${this.settings.owner}: server '${label}' ${what}${logEnd}`);
  }

  private errorText(error: unknown): string {
    return this.server.redact.error(errorReason(error)).slice(0, 500);
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
export function errorReason(error: unknown): string {
  if (!isRecord(error)) return String(error);
  const { message, cause } = error;
  return isRecord(cause) && cause.code !== undefined ? `${message} (${cause.code})` : String(message);
}
