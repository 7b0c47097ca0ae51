/** One session with an MCP server: requests, each with its own end, and the server's notifications. */

import { MAX_MS } from '../../../ports/host/options-check.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { Beginning, McpClient, McpProtocol, McpRequest, McpRequestOptions } from './client/mcp-client.ts';
import { OpenQuestions } from './client/questions.ts';
import { type Link, openLink } from './link.ts';
import type { ServerSettings } from './server-config.ts';
import type { McpSettings } from './settings.ts';

/** The callbacks of a session's owner. */
interface SessionEvents {
  onListChanged(): void;
  /** The session ended by itself, or broke during a request. */
  onLost(): void;
  /** Everything of the session has ended. */
  onClosed(): void;
}

/** The share of the time for connecting in which a server, which may have to start first, may answer the probe. */
const PROBE_SHARE = 0.75;
/** Sent to the server as the reason instead of the host's own, which stays private. */
const GIVEN_UP = 'The client gave the request up.';

/** What a session needs of its connection. */
type SessionSettings = Pick<McpSettings, 'sdk' | 'openPool' | 'connectTimeoutMs' | 'questions'>;

/** A session that is opened once and closed once. */
export class Session {
  private readonly link: Link;
  private readonly client: McpClient;
  private readonly questions: OpenQuestions;
  private readonly events: SessionEvents;
  private readonly probeMs: number;
  private readonly inFlight = new Set<() => void>();
  private retired = false;
  private closing: Promise<void> | undefined = undefined;

  constructor(
    server: ServerSettings,
    { sdk, openPool, connectTimeoutMs, questions }: SessionSettings,
    events: SessionEvents,
  ) {
    this.link = openLink(server, { sdk, openPool, onBroken: () => events.onLost() });
    this.questions = new OpenQuestions(questions);
    this.client = sdk.createClient({
      onListChanged: () => events.onListChanged(),
      questions: this.questions.bounded,
    });
    this.events = events;
    this.probeMs = PROBE_SHARE * connectTimeoutMs;
  }

  /** Whether the server has resources; known once it is open. */
  get hasResources(): boolean {
    return this.client.hasResources;
  }

  /** Whether requests are in flight. */
  get busy(): boolean {
    return this.inFlight.size > 0;
  }

  /** The last log output of the server's process. */
  log(): string {
    return this.link.log();
  }

  /** Connects and agrees on a protocol; rejects with the signal's reason once it is aborted. Must be closed even if it fails. */
  async open(beginning: Beginning, signal: AbortSignal): Promise<McpProtocol> {
    const options = { beginning, signal, timeoutMs: MAX_MS, probeMs: this.probeMs };
    // The signal alone is not enough: it reaches only the first request, not the start of the transport.
    const protocol = await untilAborted(signal, () => this.client.connect(this.link.transport, options));
    this.client.onClose(() => this.events.onLost());
    return protocol;
  }

  /** Rejects with the signal's reason once it is aborted; the server is notified, and other requests continue. */
  async request(
    request: McpRequest,
    signal: AbortSignal,
    onProgress?: McpRequestOptions['onProgress'],
  ): Promise<Readonly<Record<string, unknown>>> {
    signal.throwIfAborted();
    // The SDK never stops listening to a signal it receives, and would cancel requests long after their answer.
    const controller = new AbortController();
    const giveUp = () => controller.abort(GIVEN_UP);
    this.inFlight.add(giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      // The caller has a deadline of its own.
      return await this.client.request(request, { signal: controller.signal, timeoutMs: MAX_MS, onProgress });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
      this.inFlight.delete(giveUp);
      this.closeIfUnused();
    }
  }

  /** Closes as soon as nothing is in flight. */
  retire(): void {
    this.retired = true;
    this.closeIfUnused();
  }

  /** Fails what is in flight; resolves when session, sockets and process are gone. May be called twice. */
  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  /** Once nothing is in flight, nobody waits for what the server asks, or for a session that is retired. */
  private closeIfUnused(): void {
    if (this.busy) return;
    this.questions.abortAll();
    if (this.retired) void this.close();
  }

  private async closeAll(): Promise<void> {
    for (const giveUp of this.inFlight) giveUp();
    this.questions.abortAll();
    await this.link.close().catch(() => {});
    this.events.onClosed();
  }
}
