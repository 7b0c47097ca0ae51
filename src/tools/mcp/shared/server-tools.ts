/** The tools of one MCP server: listed from a cache, called over the pooled connection. */

import type { ProvidedTool, ToolCall, ToolResult } from '../../../ports/tool-provider.ts';
import { plainlyWrongIn, wrongIn } from '../../../protocol/json/check-value.ts';
import { hasDigits, markedValue } from '../../../protocol/json/whole-numbers.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { type McpCallError, toCallError, unknownToolError } from './call-error.ts';
import { HttpStatusError, RpcError } from './client/faults.ts';
import type { McpProtocol, McpRequest } from './client/mcp-client.ts';
import { Connection, type ConnectionStatus } from './connection.ts';
import { resourceRequest, resourceResult, resourceTools } from './results/resource-tools.ts';
import { toToolResult } from './results/tool-result.ts';
import type { McpTransport, ServerSettings } from './server-config.ts';
import type { Session } from './session.ts';
import type { McpSettings } from './settings.ts';
import { type ListPage, readToolList } from './tool-list.ts';

/** The status of one server, for a health route; without secrets. */
export interface McpServerStatus extends ConnectionStatus {
  /** The `server_label` that clients see. */
  readonly label: string;
  /** How the server is reached. */
  readonly transport: McpTransport;
  /** How many tools are offered. */
  readonly tools: number;
  /** How many connections there are, if each user has one; then the rest is that of one that is ready, or else of the newest. */
  readonly connections?: number;
  /** The era of MCP that the server speaks, and the version, such as `2026-07-28`; absent before the first session. */
  readonly protocol?: McpProtocol;
}

/** The metadata and the progress of a call. */
type ServerCall = Pick<ToolCall, 'name' | 'arguments' | 'outputBytes' | 'onProgress'>;

/** A tool as it was listed when it was called: the list may change before its answer comes. */
interface CalledTool {
  readonly tool: ProvidedTool;
  /** Whether it reads resources. */
  readonly isResource: boolean;
}

/** Delays the refresh that a change notification causes: some servers announce a change on every listing. */
const SETTLE_MS = 250;

const CHECKS = { trusted: wrongIn, untrusted: plainlyWrongIn } as const;

/** The tools of one server. Nothing is connected before `list` or `call`. */
export class ServerTools {
  private readonly server: ServerSettings;
  private readonly settings: McpSettings;
  private readonly connection: Connection;
  private tools: readonly ProvidedTool[] = [];
  /** Those of the tools that read resources. */
  private resourceNames: ReadonlySet<string> = new Set();
  private unusable: string | undefined;
  private listedAt: number | undefined = undefined;
  private refreshing: Promise<void> | undefined = undefined;
  private changeTimer: NodeJS.Timeout | undefined = undefined;

  constructor(server: ServerSettings, settings: McpSettings) {
    this.server = server;
    this.settings = settings;
    this.connection = new Connection(server, settings, {
      onOpen: (session, signal) => this.load(session, signal),
      onListChanged: () => this.refreshSoon(),
    });
  }

  get label(): string {
    return this.server.label;
  }

  /** Why the last attempt to reach the server failed, without secrets; undefined if it succeeded. */
  get fault(): McpCallError | undefined {
    return this.connection.fault;
  }

  /** Waits for the first connection, never longer than its timeout; later uses the cache. Never rejects. */
  async list(): Promise<readonly ProvidedTool[]> {
    const { connection, listedAt } = this;
    if (!connection.available) return [];
    // Connecting lists the tools; `available` reports whether it failed.
    if (listedAt === undefined) await connection.session().catch(() => {});
    else if (Date.now() - listedAt > this.settings.refreshMs) void this.refresh();
    return connection.available ? this.tools : [];
  }

  async call(call: ServerCall, signal: AbortSignal): Promise<ToolResult> {
    let called: CalledTool;
    let answer: JsonObject;
    try {
      called = await this.findCalledTool(call.name, signal);
      answer = await this.request(call, called, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw toCallError(this.server, error);
    }
    const { outputSchema: schema } = called.tool;
    return toToolResult(called.isResource ? resourceResult(answer) : answer, {
      redact: this.server.redact.content,
      maxBytes: call.outputBytes,
      output: schema && { schema, check: CHECKS[this.settings.schemas] },
    });
  }

  status(): McpServerStatus {
    const { label, connection } = this;
    const tools = connection.available ? this.tools.length : 0;
    const protocol = connection.protocol && { protocol: connection.protocol };
    return { label, transport: connection.transport, tools, ...protocol, ...connection.status };
  }

  close(): Promise<void> {
    clearTimeout(this.changeTimer);
    return this.connection.close();
  }

  private async load(session: Session, signal: AbortSignal): Promise<void> {
    const { owner, listCharacters: characters, maxTools, warn } = this.settings;
    const listPage: ListPage = (params) => session.request({ method: 'tools/list', params }, signal);
    const { tools, unusable } = await readToolList(this.server, listPage, { characters, maxTools });
    if (unusable && unusable !== this.unusable)
      warn(
        `${owner}: server '${this.label}': left out tools that need tasks, are invalid or exceed a limit: ${unusable}`,
      );
    // A tool of the server that has such a name wins.
    const names = new Set(tools.map(({ name }) => name));
    const ofResources = this.settings.resources && session.hasResources ? resourceTools(this.label) : [];
    const readers = ofResources.filter(({ name }) => !names.has(name) && this.server.allows(name));
    const { protocol } = this.connection;
    const mayName = this.settings.requestLabels?.includes(this.label) ?? true;
    const facts = { protocol, ...(mayName ? {} : { requestsMayName: false }) };
    this.tools = [...tools, ...readers].map((tool) => ({ ...tool, ...facts }));
    this.resourceNames = new Set(readers.map(({ name }) => name));
    this.unusable = unusable;
    this.listedAt = Date.now();
  }

  private refreshSoon(): void {
    const pause = Math.max(0, (this.listedAt ?? 0) + SETTLE_MS - Date.now());
    this.changeTimer ??= setTimeout(() => {
      this.changeTimer = undefined;
      // A running refresh may have been answered before the change.
      void (this.refreshing ?? Promise.resolve()).then(() => this.refresh());
    }, pause).unref();
  }

  private refresh(): Promise<void> {
    this.refreshing ??= this.reload().finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  /** Never rejects; replaces a connection that does not work. */
  private async reload(): Promise<void> {
    const before = this.listedAt;
    const session = await this.connection.session().catch(() => undefined);
    // Connecting has listed the tools.
    if (!session || this.listedAt !== before) return;
    try {
      await this.load(session, AbortSignal.timeout(this.settings.connectTimeoutMs));
    } catch (error) {
      await this.handleListFailure(session, error);
    }
  }

  /** The server may answer with an error, or be too busy with calls to answer: then the old list stays in use. */
  private async handleListFailure(session: Session, error: unknown): Promise<void> {
    this.listedAt = Date.now();
    if (error instanceof RpcError || session.busy) return;
    this.connection.retire(session, error);
    await this.connection.session().catch(() => {});
  }

  private async findCalledTool(name: string, signal: AbortSignal): Promise<CalledTool> {
    await untilAborted(signal, () => this.connection.session());
    if (!this.findTool(name) && this.server.allows(name)) await untilAborted(signal, () => this.refresh());
    const tool = this.findTool(name);
    if (!tool) throw unknownToolError(this.label, name);
    return { tool, isResource: this.resourceNames.has(name) };
  }

  /** Without the secrets of the server's config. */
  private redactedProgress(onProgress: NonNullable<ServerCall['onProgress']>): NonNullable<ServerCall['onProgress']> {
    const { content } = this.server.redact;
    return ({ message, ...progress }) =>
      onProgress(message === undefined ? progress : { ...progress, message: content(message) });
  }

  private findTool(name: string): ProvidedTool | undefined {
    return this.tools.find((tool) => tool.name === name);
  }

  private async request({ arguments: args, onProgress }: ServerCall, called: CalledTool, signal: AbortSignal) {
    const { name, parameters: inputSchema } = called.tool;
    let request: McpRequest;
    if (called.isResource) request = resourceRequest(name, args);
    else {
      // A mark must not become a header.
      const mayMark = hasDigits(args) && !JSON.stringify(inputSchema ?? {}).includes('x-mcp-header');
      request = { method: 'tools/call', params: { name, arguments: mayMark ? markedValue(args) : args }, inputSchema };
    }
    for (let attempt = 0; ; attempt += 1) {
      const session = await untilAborted(signal, () => this.connection.session());
      try {
        return await session.request(request, signal, onProgress && this.redactedProgress(onProgress));
      } catch (error) {
        if (signal.aborted || error instanceof RpcError) throw error;
        this.connection.retire(session, error);
        // The server no longer knows the session. It has then done nothing, so the call may be repeated.
        const isForgotten = error instanceof HttpStatusError && (error.status === 404 || error.status === 400);
        if (attempt > 0 || !isForgotten) throw error;
      }
    }
  }
}
