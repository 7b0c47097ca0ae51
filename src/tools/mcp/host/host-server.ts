/** One configured server, as the requests of all users reach it. */

import { throttled } from '../../../ports/host/warner.ts';
import { FairSlots } from '../../../ports/queues/fair-places.ts';
import { limitScope } from '../../../ports/scope.ts';
import type { ProvidedTool, ToolCall, ToolResult, ToolsRequest } from '../../../ports/tool-provider.ts';
import { thrownText } from '../../../protocol/record.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { McpCallError, noCredentialsError } from '../shared/call-error.ts';
import { type McpChallenge, withChallengeReports } from '../shared/challenge.ts';
import type { ConnectionPool, PooledConnection } from '../shared/connection-pool.ts';
import { SentTokens } from '../shared/redact.ts';
import type { ServerSettings } from '../shared/server-config.ts';
import { type McpServerStatus, ServerTools } from '../shared/server-tools.ts';
import type { McpSettings } from '../shared/settings.ts';
import { type CredentialFunctions, credentialsKey, readCredentials, withCredentials } from './credentials.ts';
import { type HostAnswers, questionsFor } from './host-answers.ts';

/** Before a user's connection that failed is opened again. */
const RETRY_MS = 5_000;
/** A server that refused a client. */
export interface UnauthorizedInfo extends McpChallenge {
  /** The `server_label` of the server. */
  readonly server: string;
  /** Whose connection it was; undefined if all share it. */
  readonly scope: string | undefined;
}

/** The tools of one server. */
interface HostServer {
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
interface UserConnection extends PooledConnection {
  readonly tools: ServerTools;
  /** The last one of the server. */
  challenge: McpChallenge | undefined;
}

/** A server with one connection for everybody, or one for each user if it has functions for their credentials. */
export function hostServer(
  server: ServerSettings,
  functions: CredentialFunctions | undefined,
  settings: HostSettings,
): HostServer {
  if (functions) return new UserServer(server, functions, settings);
  const { label } = server;
  const { mcp, onUnauthorized } = settings;
  const report = (challenge: McpChallenge) => onUnauthorized({ ...challenge, server: label, scope: undefined });
  const tools = connectTools(server, undefined, settings, { report, warn: mcp.warn, retries: true });
  return {
    label,
    list: (_request, signal) => untilAborted(signal, () => tools.list()),
    call: server.transport === 'stdio' ? (call, signal) => tools.call(call, signal) : fairCalls(tools),
    status: () => tools.status(),
    close: () => tools.close(),
  };
}

/** Calls that hold a socket at a time: some of the sockets are left for lists and events. */
const MAX_CALLS = 120;

/** The calls of all tenants over one connection: of its sockets a tenant leaves some to the others. */
function fairCalls(tools: ServerTools): HostServer['call'] {
  // Who waits is bounded by the callers, each of which holds a turn.
  const places = new FairSlots({ places: MAX_CALLS, waiting: Number.POSITIVE_INFINITY });
  return async function callInPlace(call, signal) {
    const tenant = limitScope(call.scope);
    await places.enter(tenant, signal);
    try {
      return await tools.call(call, signal);
    } finally {
      places.leave(tenant);
    }
  };
}

/** The tools over one connection. */
function connectTools(
  server: ServerSettings,
  scope: string | undefined,
  { mcp, answers }: HostSettings,
  {
    report,
    ...overrides
  }: { readonly report: (challenge: McpChallenge) => void } & Pick<McpSettings, 'warn' | 'retries'>,
): ServerTools {
  const tokens = new SentTokens(server.redact);
  const reporting = withChallengeReports(mcp.openPool, report);
  // Tokens from elsewhere are known before they are sent.
  const openPool = server.transport !== 'stdio' && server.authProvider ? tokens.observe(reporting) : reporting;
  const questions = questionsFor({ server: server.label, scope }, answers, mcp.warn);
  return new ServerTools({ ...server, redact: tokens.redact }, { ...mcp, ...overrides, openPool, questions });
}

class UserServer implements HostServer {
  readonly label: string;
  private readonly server: ServerSettings;
  private readonly functions: CredentialFunctions;
  private readonly settings: HostSettings;
  private readonly open = new Set<UserConnection>();
  private readonly since = Date.now();
  /** Seldom: anybody's wrong credentials are a reason. */
  private readonly warn: (why: string) => void;

  constructor(server: ServerSettings, functions: CredentialFunctions, settings: HostSettings) {
    this.label = server.label;
    this.server = server;
    this.functions = functions;
    this.settings = settings;
    this.warn = throttled((why) => settings.mcp.warn(`mcpTools: server '${server.label}' fails for a user: ${why}`));
  }

  async list(request: ToolsRequest | undefined, signal: AbortSignal): Promise<readonly ProvidedTool[]> {
    if (!request) return [];
    try {
      return await this.attempt(request, signal, async (tools) => {
        const list = await tools.list();
        if (tools.fault) throw tools.fault;
        return list;
      });
    } catch (error) {
      signal.throwIfAborted();
      this.warn(thrownText(error).slice(0, 500));
      return [];
    }
  }

  call(call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    return this.attempt(call, signal, (tools) => tools.call(call, signal));
  }

  /** A server that is ready for one user is ready. One that refuses a user's credentials has not failed. */
  status(): McpServerStatus {
    const { label, server, open, since } = this;
    const newestFirst = [...open]
      .reverse()
      .map(({ tools }): McpServerStatus => {
        const { type, code } = tools.fault ?? {};
        const isRefused = type === 'http_error' && (code === 401 || code === 403);
        return isRefused ? { ...tools.status(), state: 'idle' } : tools.status();
      })
      .sort((one, other) => other.since - one.since);
    const unused: McpServerStatus = { label, transport: server.transport, tools: 0, state: 'idle', since };
    const status = newestFirst.find(({ state }) => state === 'ready') ?? newestFirst[0] ?? unused;
    return { ...status, connections: open.size };
  }

  async close(): Promise<void> {
    await Promise.all([...this.open].map((connection) => connection.close()));
  }

  /** Asks for the credentials once more if the server refuses them. */
  private async attempt<Result>(
    request: ToolsRequest,
    signal: AbortSignal,
    work: (tools: ServerTools) => Promise<Result>,
  ): Promise<Result> {
    let challenge: McpChallenge | undefined;
    const once = () =>
      this.withConnection(request, signal, challenge, (connection) =>
        work(connection.tools).catch((error: unknown) => {
          challenge = retryChallenge(error, connection.challenge);
          throw error;
        }),
      );
    try {
      return await once();
    } catch (error) {
      if (!challenge) throw error;
      return once();
    }
  }

  private async withConnection<Result>(
    request: ToolsRequest,
    signal: AbortSignal,
    challenge: McpChallenge | undefined,
    work: (connection: UserConnection) => Promise<Result>,
  ): Promise<Result> {
    const credentials = await this.readCredentials(request, signal, challenge);
    const { scope } = request;
    const key = { scope, id: credentialsKey(this.label, scope, credentials) };
    const create = () => this.connect(withCredentials(this.server, credentials), scope);
    return this.settings.pool.use(key, create, work);
  }

  /** What the host's functions throw is for the host alone. */
  private async readCredentials(request: ToolsRequest, signal: AbortSignal, challenge: McpChallenge | undefined) {
    const { connectTimeoutMs } = this.settings.mcp;
    const expired = AbortSignal.timeout(connectTimeoutMs);
    try {
      return await untilAborted(AbortSignal.any([signal, expired]), () =>
        readCredentials(this.functions, request, challenge),
      );
    } catch (error) {
      signal.throwIfAborted();
      const why = expired.aborted
        ? `they were not given within ${connectTimeoutMs} ms`
        : thrownText(error).slice(0, 500);
      this.warn(`no credentials: ${why}`);
      throw noCredentialsError(this.label);
    }
  }

  private connect(server: ServerSettings, scope: string): UserConnection {
    const { onUnauthorized } = this.settings;
    const report = (challenge: McpChallenge) => {
      connection.challenge = challenge;
      onUnauthorized({ ...challenge, server: this.label, scope });
    };
    // Credentials of clients are no reason for warnings, or for further attempts while nobody asks.
    const tools = connectTools(server, scope, this.settings, { report, warn: () => {}, retries: false });
    const connection: UserConnection = {
      tools,
      challenge: undefined,
      get failed() {
        const { state, since } = tools.status();
        return state === 'failed' && Date.now() - since > RETRY_MS;
      },
      close: () => {
        this.open.delete(connection);
        return tools.close();
      },
    };
    this.open.add(connection);
    return connection;
  }
}

/** Why other credentials may help: the server's challenge, or its status alone. */
function retryChallenge(error: unknown, last: McpChallenge | undefined): McpChallenge | undefined {
  if (!(error instanceof McpCallError) || error.type !== 'http_error') return undefined;
  if (last?.status === error.code) return last;
  return error.code === 401 ? { status: 401 } : undefined;
}
