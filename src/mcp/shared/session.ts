/** One session with an MCP server: requests, each with its own end, and the server's notifications. */

import { LONGEST_MS } from '../../ports/host/options-check.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import type { Beginning, McpProtocol, McpRequest, McpRequestOptions } from './client/mcp-client.ts';
import { openLink } from './link.ts';
import type { ServerSettings } from './server-config.ts';
import type { McpSettings } from './settings.ts';

/** A session that is opened once and closed once. */
export interface Session {
  /** Connects and agrees on a protocol; rejects with the signal's reason once it is aborted. Must be closed even if it fails. */
  open(beginning: Beginning, signal: AbortSignal): Promise<McpProtocol>;
  /** Rejects with the signal's reason once it is aborted; the server is notified, and other requests continue. */
  request(
    request: McpRequest,
    signal: AbortSignal,
    onProgress?: McpRequestOptions['onProgress'],
  ): Promise<Readonly<Record<string, unknown>>>;
  /** Whether the server has resources; known once it is open. */
  readonly hasResources: boolean;
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

/** The share of the time for connecting in which a process, which has to start first, may answer the probe. */
const PROBE_SHARE = 0.75;
/** Sent to the server as the reason instead of the host's own, which stays private. */
const GIVEN_UP = 'The client gave the request up.';

/** Creates a session that is not open yet. */
export function createSession(
  server: ServerSettings,
  {
    sdk,
    openPool,
    connectTimeoutMs,
    questions,
  }: Pick<McpSettings, 'sdk' | 'openPool' | 'connectTimeoutMs' | 'questions'>,
  events: SessionEvents,
): Session {
  const link = openLink(server, { sdk, openPool, onBroken: () => events.onLost() });
  const client = sdk.createClient({ onListChanged: () => events.onListChanged(), questions });
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
    async open(beginning, signal) {
      const options = { beginning, signal, timeoutMs: LONGEST_MS, probeMs: PROBE_SHARE * connectTimeoutMs };
      // The signal alone is not enough: it reaches only the first request, not the start of the transport.
      const protocol = await untilAborted(signal, () => client.connect(link.transport, options));
      client.onClose(() => events.onLost());
      return protocol;
    },
    async request(request, signal, onProgress) {
      signal.throwIfAborted();
      // The SDK never stops listening to a signal it receives, and would cancel requests long after their answer.
      const controller = new AbortController();
      const giveUp = () => controller.abort(GIVEN_UP);
      inFlight.add(giveUp);
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        // The caller has a deadline of its own.
        return await client.request(request, { signal: controller.signal, timeoutMs: LONGEST_MS, onProgress });
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', giveUp);
        inFlight.delete(giveUp);
        if (retired) retire();
      }
    },
    get hasResources() {
      return client.hasResources;
    },
    get busy() {
      return inFlight.size > 0;
    },
    log: link.log,
    retire,
    close,
  };
}
