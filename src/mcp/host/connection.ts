/** The pooled connection to one MCP server: opened when needed, reopened with backoff, closed when idle. */
import { isRecord } from '../../protocol/record.ts';
import { unavailable } from '../shared/call-error.ts';
import { createSession, type Session } from '../shared/session.ts';
import type { McpSettings } from './options.ts';
import type { ServerSettings } from './server-config.ts';

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
  /** Whether the server is believed to be there: it was not tried yet, or did not fail last. */
  readonly available: boolean;
  /** Ends every session, process and socket. May be called twice. */
  close(): Promise<void>;
}

/** What the owner of a connection does. */
export interface ConnectionEvents {
  /** Is part of connecting: a server that fails this has failed. */
  onOpen(session: Session, signal: AbortSignal): Promise<void>;
  onListChanged(): void;
}

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;

/** A connection that is not open yet. */
export function createConnection(server: ServerSettings, settings: McpSettings, events: ConnectionEvents): Connection {
  const { label, redact } = server;
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
    const session: Session = createSession(server, settings.openPool, {
      onListChanged: () => events.onListChanged(),
      onLost: () => lost(session),
      onClosed: () => sessions.delete(session),
    });
    sessions.add(session);
    try {
      await session.open(signal);
      await events.onOpen(session, signal);
      signal.throwIfAborted();
    } catch (error) {
      void session.close();
      failed(signal.aborted ? signal.reason : error, session.log());
      throw unavailable(label);
    }
    current = session;
    failures = 0;
    become('ready');
    keep();
    return session;
  }

  function failed(error: unknown, log: string): void {
    if (status.state === 'closed') return;
    const message = told(error);
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
      become('idle', error === undefined ? undefined : told(error));
    }
    session.retire();
  }

  function warn(what: string, log: string): void {
    const itsLog = log === '' ? '' : ` Its log ends: ${redact.error(log)}`;
    settings.warn(`${settings.owner}: server '${label}' ${what}${itsLog}`);
  }

  function told(error: unknown): string {
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
      if (status.state === 'closed' || status.state === 'failed') throw unavailable(label);
      keep();
      return open();
    },
    retire,
    get status() {
      return status;
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

/** An error in words; fetch hides the reason in its cause. */
export function reasonOf(error: unknown): string {
  if (!isRecord(error)) return String(error);
  const { message, cause } = error;
  return isRecord(cause) && cause.code !== undefined ? `${message} (${cause.code})` : String(message);
}
