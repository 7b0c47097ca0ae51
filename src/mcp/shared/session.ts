/** One session with an MCP server: requests, each with its own end, and the server's notifications. */

import { LONGEST_MS } from '../../ports/host/options-check.ts';
import { VERSION } from '../../protocol/version.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import type { HttpPool } from './http-pool.ts';
import { openLink } from './link.ts';
import { Client, ResultSchema, ToolListChangedNotificationSchema } from './sdk.ts';
import type { ServerSettings } from './server-config.ts';

/** A session that is opened once and closed once. */
export interface Session {
  /** Connects and initialises; rejects with the signal's reason once it is aborted. Must be closed even if it fails. */
  open(signal: AbortSignal): Promise<void>;
  /** Rejects with the signal's reason once it is aborted; the server is notified, and other requests continue. */
  request(
    method: 'tools/list' | 'tools/call',
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>>;
  /** Whether requests are in flight. */
  readonly busy: boolean;
  /** The last log output of the server's process. */
  log(): string;
  /** Closes as soon as nothing is in flight. */
  retire(): void;
  /** Fails what is in flight; resolves when session, sockets and process are gone. May be called twice. */
  close(): Promise<void>;
}

/** The callbacks of a session's owner. */
interface SessionEvents {
  onListChanged(): void;
  /** The session ended by itself, or broke during a request. */
  onLost(): void;
  /** Everything of the session has ended. */
  onClosed(): void;
}

/** How this package identifies itself to servers; the version is that of package.json. */
export const CLIENT_INFO = { name: 'express-open-responses', version: VERSION };

/** Sent to the server as the reason instead of the host's own, which stays private. */
const GIVEN_UP = 'The client gave the request up.';

/** Creates a session that is not open yet. */
export function createSession(server: ServerSettings, openPool: () => HttpPool, events: SessionEvents): Session {
  const link = openLink(server, { openPool, onBroken: () => events.onLost() });
  const client = new Client(CLIENT_INFO, { capabilities: {} });
  const inFlight = new Set<() => void>();
  let retired = false;
  let closing: Promise<void> | undefined;

  function retire(): void {
    retired = true;
    if (inFlight.size === 0) void close();
  }

  function close(): Promise<void> {
    closing ??= end();
    return closing;
  }

  async function end(): Promise<void> {
    for (const giveUp of inFlight) giveUp();
    await link.close().catch(() => {});
    events.onClosed();
  }

  return {
    async open(signal) {
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.onListChanged());
      // The signal alone is not enough: it reaches only the first request, not the start of the transport.
      await untilAborted(signal, () => client.connect(link.transport, { signal, timeout: LONGEST_MS }));
      client.onclose = () => events.onLost();
    },
    async request(method, params, signal) {
      signal.throwIfAborted();
      // The SDK never stops listening to a signal it receives, and would cancel requests long after their answer.
      const controller = new AbortController();
      const giveUp = () => controller.abort(GIVEN_UP);
      inFlight.add(giveUp);
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        return await client.request({ method, params }, ResultSchema, requestOptions(controller.signal));
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', giveUp);
        inFlight.delete(giveUp);
        if (retired) retire();
      }
    },
    get busy() {
      return inFlight.size > 0;
    },
    log: link.log,
    retire,
    close,
  };
}

/** The caller has a deadline of its own; requesting progress keeps proxies from timing out slow calls. */
function requestOptions(signal: AbortSignal) {
  return { signal, timeout: LONGEST_MS, resetTimeoutOnProgress: true, onprogress: () => {} };
}
