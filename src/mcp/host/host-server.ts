/** One configured server, as the requests of all users reach it. */
import type { ProvidedTool, ToolCall, ToolResult, ToolsRequest } from '../../ports/tool-provider.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { McpCallError } from '../shared/call-error.ts';
import { type McpChallenge, tellingChallenges } from '../shared/challenge.ts';
import type { ConnectionPool, PooledConnection } from '../shared/connection-pool.ts';
import type { ServerSettings } from '../shared/server-config.ts';
import { type McpServerStatus, type ServerTools, serverTools } from '../shared/server-tools.ts';
import type { McpSettings } from '../shared/settings.ts';
import { askedCredentials, type CredentialFunctions, credentialsKey, settingsWith } from './credentials.ts';
import { type HostAnswers, questionsFor } from './host-answers.ts';

/** Between two warnings about one server. */
const WARNING_PAUSE_MS = 60_000;

/** A server that refused a client. */
export interface UnauthorizedInfo extends McpChallenge {
  /** The `server_label` of the server. */
  readonly server: string;
  /** Whose connection it was; undefined if all share it. */
  readonly scope: string | undefined;
}

/** The tools of one server. */
export interface HostServer {
  readonly label: string;
  /** Never rejects, unless the signal is aborted. */
  list(request: ToolsRequest | undefined, signal: AbortSignal): Promise<readonly ProvidedTool[]>;
  call(call: ToolCall, signal: AbortSignal): Promise<ToolResult>;
  status(): McpServerStatus;
  close(): Promise<void>;
}

/** What the servers of one provider share. */
export interface HostSettings {
  readonly mcp: McpSettings;
  readonly pool: ConnectionPool<UserConnection>;
  readonly onUnauthorized: (info: UnauthorizedInfo) => void;
  readonly answers: HostAnswers;
}

/** The connection of a user. */
export interface UserConnection extends PooledConnection {
  readonly tools: ServerTools;
  /** The last one of the server. */
  readonly challenge: McpChallenge | undefined;
}

/** A server with one connection for everybody, or one for each user if it has functions for their credentials. */
export function hostServer(
  server: ServerSettings,
  functions: CredentialFunctions | undefined,
  settings: HostSettings,
): HostServer {
  return functions ? new UserServer(server, functions, settings) : sharedServer(server, settings);
}

function sharedServer(server: ServerSettings, { mcp, onUnauthorized, answers }: HostSettings): HostServer {
  const { label } = server;
  const openPool = tellingChallenges(mcp.openPool, (challenge) =>
    onUnauthorized({ ...challenge, server: label, scope: undefined }),
  );
  const questions = questionsFor({ server: label, scope: undefined }, answers, mcp.warn);
  const tools = serverTools(server, { ...mcp, openPool, questions });
  return {
    label,
    list: (_request, signal) => untilAborted(signal, () => tools.list()),
    call: (call, signal) => tools.call(call, signal),
    status: () => tools.status(),
    close: () => tools.close(),
  };
}

class UserServer implements HostServer {
  readonly label: string;
  private readonly server: ServerSettings;
  private readonly functions: CredentialFunctions;
  private readonly settings: HostSettings;
  private readonly open = new Set<UserConnection>();
  private last: ServerTools | undefined;
  private warnedAt = Number.NEGATIVE_INFINITY;

  constructor(server: ServerSettings, functions: CredentialFunctions, settings: HostSettings) {
    this.label = server.label;
    this.server = server;
    this.functions = functions;
    this.settings = settings;
  }

  async list(request: ToolsRequest | undefined, signal: AbortSignal): Promise<readonly ProvidedTool[]> {
    if (!request) return [];
    try {
      return await this.attempt(request, signal, listed);
    } catch (error) {
      signal.throwIfAborted();
      this.warn(messageOf(error));
      return [];
    }
  }

  call(call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    return this.attempt(call, signal, (tools) => tools.call(call, signal));
  }

  status(): McpServerStatus {
    const { label, server, last, open } = this;
    const status = last?.status() ?? { label, transport: server.transport, tools: 0, state: 'idle', since: 0 };
    return { ...status, connections: open.size };
  }

  async close(): Promise<void> {
    await Promise.all([...this.open].map((connection) => connection.close()));
  }

  /** Seldom: anybody's wrong credentials are a reason. */
  private warn(why: string): void {
    const now = performance.now();
    if (now - this.warnedAt < WARNING_PAUSE_MS) return;
    this.warnedAt = now;
    this.settings.mcp.warn(`mcpTools: server '${this.label}' has no tools for a request: ${why}`);
  }

  /** Asks for the credentials once more if the server refuses them. */
  private async attempt<Result>(
    request: ToolsRequest,
    signal: AbortSignal,
    work: (tools: ServerTools) => Promise<Result>,
  ): Promise<Result> {
    let challenge: McpChallenge | undefined;
    const once = () =>
      this.using(request, signal, challenge, (connection) =>
        work(connection.tools).catch((error: unknown) => {
          challenge = connection.challenge;
          throw error;
        }),
      );
    try {
      return await once();
    } catch (error) {
      if (!isUnauthorized(error) || !challenge) throw error;
      return once();
    }
  }

  private async using<Result>(
    request: ToolsRequest,
    signal: AbortSignal,
    challenge: McpChallenge | undefined,
    work: (connection: UserConnection) => Promise<Result>,
  ): Promise<Result> {
    const credentials = await untilAborted(signal, () =>
      askedCredentials(this.server, this.functions, request, challenge),
    );
    const { scope } = request;
    const key = { scope, id: credentialsKey(this.label, scope, credentials) };
    const create = () => this.connect(settingsWith(this.server, credentials), scope);
    return this.settings.pool.use(key, create, work);
  }

  private connect(server: ServerSettings, scope: string): UserConnection {
    const { mcp, onUnauthorized, answers } = this.settings;
    let last: McpChallenge | undefined;
    const openPool = tellingChallenges(mcp.openPool, (challenge) => {
      last = challenge;
      onUnauthorized({ ...challenge, server: this.label, scope });
    });
    const questions = questionsFor({ server: this.label, scope }, answers, mcp.warn);
    const tools = serverTools(server, { ...mcp, openPool, questions, warn: () => {} });
    const connection: UserConnection = {
      tools,
      get challenge() {
        return last;
      },
      // It tries again by itself, and is closed when nobody uses it.
      failed: false,
      close: () => {
        this.open.delete(connection);
        return tools.close();
      },
    };
    this.open.add(connection);
    this.last = tools;
    return connection;
  }
}

async function listed(tools: ServerTools): Promise<readonly ProvidedTool[]> {
  const list = await tools.list();
  if (tools.fault) throw tools.fault;
  return list;
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof McpCallError && error.type === 'http_error' && (error.code === 401 || error.code === 403);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500);
}
