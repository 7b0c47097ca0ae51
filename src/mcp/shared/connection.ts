/** The pooled connection to one MCP server: opened when needed, reopened with backoff, closed when idle. */
import { isRecord } from '../../protocol/record.ts';
import { httpStatusOf, type McpCallError, notOpened, unavailable } from './call-error.ts';
import type { McpTransport, ServerSettings } from './server-config.ts';
import { createSession, type Session } from './session.ts';
import type { McpSettings } from './settings.ts';

/** Where a connection stands. `idle`: not connected, and connected when next needed. `failed`: tried again later. */
export type McpServerState = 'idle' | 'connecting' | 'ready' | 'failed' | 'closed';

/** Where a connection stands, since when (milliseconds since the epoch), and what went wrong last, free of secrets. */
export interface ConnectionStatus {
  readonly state: McpServerState;
  readonly since: number;
  readonly error?: string;
}

/** The connection to one server; at most one session is current, older ones may still finish their requests. */
export interface Connection {
  /** The current session, opened if there is none; rejects at once while the server is in backoff. */
  session(): Promise<Session>;
  /** Sends no new requests to this session; the next one that is needed is opened. */
  retire(session: Session, error: unknown): void;
  readonly status: ConnectionStatus;
  /** How the server is reached: as configured, or over the other transport where it has turned out to speak that. */
  readonly transport: McpTransport;
  /** Why it could not be opened last; undefined where it could. */
  readonly fault: McpCallError | undefined;
  /** Whether the server is believed to be there: it was not tried yet, or did not fail last. */
  readonly available: boolean;
  /** Ends every session, process and socket. May be called twice. */
  close(): Promise<void>;
}

/** What the owner of a connection does. */
interface ConnectionEvents {
  /** Is part of connecting: a server that fails this has failed. */
  onOpen(session: Session, signal: AbortSignal): Promise<void>;
  onListChanged(): void;
}

/** Servers of the other transport answer so; see "Backwards Compatibility" in MCP's chapter on transports. */
const OTHER_TRANSPORT: ReadonlySet<unknown> = new Set([400, 404, 405]);
const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;

/** A connection that is not open yet. */
export function createConnection(server: ServerSettings, settings: McpSettings, events: ConnectionEvents): Connection {
  const { label, redact } = server;
  let way = server;
  let fault: McpCallError | undefined;
  const sessions = new Set<Session>();
  let status: ConnectionStatus = { state: 'idle', since: Date.now() };
  let current: Session | undefined;
  let opening: { readonly session: Promise<Session>; abort(reason: Error): void } | undefined;
  let failures = 0;
  let retryTimer: NodeJS.Timeout | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  function become(state: McpServerState, error?: string): void {
    status = { state, since: Date.now(), ...(error === undefined ? {} : { error }) };
  }

  function open(): Promise<Session> {
    if (current) return Promise.resolve(current);
    opening ??= startOpening();
    return opening.session;
  }

  function startOpening() {
    const { connectTimeoutMs } = settings;
    const controller = new AbortController();
    const expire = () => controller.abort(new Error(`It did not answer within ${connectTimeoutMs} ms.`));
    const timer = setTimeout(expire, connectTimeoutMs);
    const session = openSession(controller.signal).finally(() => {
      clearTimeout(timer);
      opening = undefined;
    });
    // Whoever waits is told; where nobody does, `failed` has told the host.
    session.catch(() => {});
    return { session, abort: (reason: Error) => controller.abort(reason) };
  }

  async function openSession(signal: AbortSignal): Promise<Session> {
    become('connecting', status.error);
    const session = await reached(signal);
    try {
      await events.onOpen(session, signal);
      signal.throwIfAborted();
    } catch (error) {
      throw givenUp(session, error, signal);
    }
    current = session;
    failures = 0;
    fault = undefined;
    become('ready');
    keep();
    return session;
  }

  /** Over the transport that the server speaks. */
  async function reached(signal: AbortSignal): Promise<Session> {
    const session = newSession();
    try {
      await session.open(signal);
      return session;
    } catch (error) {
      const other = signal.aborted ? undefined : otherWay(way, error);
      if (!other) throw givenUp(session, error, signal);
      void session.close();
      way = other;
      return reached(signal);
    }
  }

  function newSession(): Session {
    const session: Session = createSession(way, settings.openPool, {
      onListChanged: () => events.onListChanged(),
      onLost: () => lost(session),
      onClosed: () => sessions.delete(session),
    });
    sessions.add(session);
    return session;
  }

  /** Which transport it is will be found out again. */
  function givenUp(session: Session, error: unknown, signal: AbortSignal): McpCallError {
    void session.close();
    way = server;
    const reason = signal.aborted ? signal.reason : error;
    fault = notOpened(label, reason);
    failed(reason, session.log());
    return fault;
  }

  function failed(error: unknown, log: string): void {
    if (status.state === 'closed') return;
    const message = wording(error);
    become('failed', message);
    const pause = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** failures);
    failures += 1;
    if (!settings.retries) return;
    retryTimer = setTimeout(() => void open().catch(() => {}), pause).unref();
    if (failures > 1) return;
    warn(`is unavailable and is tried again: ${message}`, log);
  }

  function lost(session: Session): void {
    if (session !== current) return;
    warn('broke its connection, which is reopened when it is needed.', session.log());
    retire(session, new Error('The connection was lost.'));
  }

  function retire(session: Session, error?: unknown): void {
    if (session === current) {
      current = undefined;
      become('idle', error === undefined ? undefined : wording(error));
    }
    session.retire();
  }

  function warn(what: string, log: string): void {
    const itsLog = log === '' ? '' : ` Its log ends: ${redact.error(log)}`;
    settings.warn(`${settings.owner}: server '${label}' ${what}${itsLog}`);
  }

  function wording(error: unknown): string {
    return redact.error(reasonOf(error)).slice(0, 500);
  }

  /** Puts off the end of the connection: it is being used. */
  function keep(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(endIfIdle, settings.idleMs).unref();
  }

  function endIfIdle(): void {
    if (current?.busy) return keep();
    if (current) retire(current);
  }

  return {
    async session() {
      if (status.state === 'closed') throw unavailable(label);
      if (status.state === 'failed') throw fault ?? unavailable(label);
      keep();
      return open();
    },
    retire,
    get status() {
      return status;
    },
    get transport() {
      return way.transport;
    },
    get fault() {
      return fault;
    },
    get available() {
      return status.state !== 'closed' && failures === 0;
    },
    async close() {
      clearTimeout(retryTimer);
      clearTimeout(idleTimer);
      current = undefined;
      if (status.state !== 'closed') become('closed');
      opening?.abort(new Error('The connection was closed.'));
      await Promise.all([...sessions].map((session) => session.close()));
    },
  };
}

/** The server over its other transport, where the error says that it does not speak this one. */
function otherWay(way: ServerSettings, error: unknown): ServerSettings | undefined {
  if (way.transport === 'stdio' || way.fallback === undefined || !OTHER_TRANSPORT.has(httpStatusOf(error)))
    return undefined;
  const { fallback, ...rest } = way;
  return { ...rest, transport: fallback };
}

/** An error in words; fetch hides the reason in its cause. */
export function reasonOf(error: unknown): string {
  if (!isRecord(error)) return String(error);
  const { message, cause } = error;
  return isRecord(cause) && cause.code !== undefined ? `${message} (${cause.code})` : String(message);
}
