/** The tools of one MCP server: listed from a cache, called over the pooled connection. */

import type { ProvidedTool, ToolCall, ToolResult } from '../../ports/tool-provider.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { isForgottenSession, type McpCallError, toCallError, unknownTool } from './call-error.ts';
import { type ConnectionStatus, createConnection } from './connection.ts';
import { McpError } from './sdk.ts';
import type { McpTransport, ServerSettings } from './server-config.ts';
import type { Session } from './session.ts';
import type { McpSettings } from './settings.ts';
import { type ListPage, readToolList } from './tool-list.ts';
import { toToolResult } from './tool-result.ts';

/** How one server is doing, for a health route; free of secrets. */
export interface McpServerStatus extends ConnectionStatus {
  readonly label: string;
  readonly transport: McpTransport;
  /** How many tools are on offer. */
  readonly tools: number;
}

/** The tools of one server. */
export interface ServerTools {
  readonly label: string;
  /** Waits for the first connection, never longer than that may take; later from the cache. Never rejects. */
  list(): Promise<readonly ProvidedTool[]>;
  call(call: Pick<ToolCall, 'name' | 'arguments' | 'outputBytes'>, signal: AbortSignal): Promise<ToolResult>;
  status(): McpServerStatus;
  /** Why the server could not be reached last, in an error free of secrets; undefined where it could. */
  readonly fault: McpCallError | undefined;
  close(): Promise<void>;
}

/** Between a list and the refresh that a change asks for: some servers announce a change whenever they are asked. */
const SETTLE_MS = 250;

/** Nothing is connected before `list` or `call`. */
export function serverTools(server: ServerSettings, settings: McpSettings): ServerTools {
  const { label } = server;
  const connection = createConnection(server, settings, { onOpen: load, onListChanged: refreshSoon });
  let tools: readonly ProvidedTool[] = [];
  let unusable = 0;
  let listedAt: number | undefined;
  let refreshing: Promise<void> | undefined;
  let changeTimer: NodeJS.Timeout | undefined;

  async function load(session: Session, signal: AbortSignal): Promise<void> {
    const listPage: ListPage = (params) => session.request('tools/list', params, signal);
    const list = await readToolList(server, listPage, settings.listCharacters);
    if (list.unusable > 0 && list.unusable !== unusable)
      settings.warn(`${settings.owner}: server '${label}': ${list.unusable} tools are left out: unusable, or too many`);
    ({ tools, unusable } = list);
    listedAt = Date.now();
  }

  function refreshSoon(): void {
    const pause = Math.max(0, (listedAt ?? 0) + SETTLE_MS - Date.now());
    changeTimer ??= setTimeout(refreshAgain, pause).unref();
  }

  function refreshAgain(): void {
    changeTimer = undefined;
    // A refresh that runs already may have been answered before the change.
    void (refreshing ?? Promise.resolve()).then(refresh);
  }

  function refresh(): Promise<void> {
    refreshing ??= reload().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  /** Never rejects; a connection that does not work is replaced. */
  async function reload(): Promise<void> {
    const before = listedAt;
    const session = await connection.session().catch(() => undefined);
    // Connecting has listed the tools.
    if (!session || listedAt !== before) return;
    try {
      await load(session, AbortSignal.timeout(settings.connectTimeoutMs));
    } catch (error) {
      await doubt(session, error);
    }
  }

  /** The server may answer with an error, or be too busy with calls to answer: then the old list serves on. */
  async function doubt(session: Session, error: unknown): Promise<void> {
    listedAt = Date.now();
    if (error instanceof McpError || session.busy) return;
    connection.retire(session, error);
    await connection.session().catch(() => {});
  }

  async function request(params: Pick<ToolCall, 'name' | 'arguments'>, signal: AbortSignal) {
    for (let attempt = 0; ; attempt += 1) {
      const session = await untilAborted(signal, () => connection.session());
      try {
        return await session.request('tools/call', params, signal);
      } catch (error) {
        if (signal.aborted || error instanceof McpError) throw error;
        connection.retire(session, error);
        if (attempt > 0 || !isForgottenSession(error)) throw error;
      }
    }
  }

  async function answerOf(call: Pick<ToolCall, 'name' | 'arguments'>, signal: AbortSignal) {
    try {
      await find(call.name, signal);
      return await request(call, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw toCallError(server, error);
    }
  }

  const has = (name: string) => tools.some((tool) => tool.name === name);

  async function find(name: string, signal: AbortSignal): Promise<void> {
    await untilAborted(signal, () => connection.session());
    if (!has(name) && server.allows(name)) await untilAborted(signal, refresh);
    if (!has(name)) throw unknownTool(label, name);
  }

  return {
    label,
    async list() {
      if (!connection.available) return [];
      // Connecting lists the tools; whether it failed is told by `available`.
      if (listedAt === undefined) await connection.session().catch(() => {});
      else if (Date.now() - listedAt > settings.refreshMs) void refresh();
      return connection.available ? tools : [];
    },
    async call({ name, arguments: args, outputBytes: maxBytes }, signal) {
      const result = await answerOf({ name, arguments: args }, signal);
      return toToolResult(result, { redact: server.redact.content, maxBytes });
    },
    status: () => ({
      label,
      transport: connection.transport,
      tools: connection.available ? tools.length : 0,
      ...connection.status,
    }),
    get fault() {
      return connection.fault;
    },
    close() {
      clearTimeout(changeTimer);
      return connection.close();
    },
  };
}
