/** The package `@modelcontextprotocol/client`, for servers of both eras of MCP. */
import { setTimeout as sleep } from 'node:timers/promises';
import type * as ClientModule from '@modelcontextprotocol/client';
import type * as StdioModule from '@modelcontextprotocol/client/stdio';
import { optionalPeer } from '../../../../ports/host/peer.ts';
import type { JsonObject } from '../../../../protocol/record.ts';
import { HttpStatusError, ProbeRefusedError, RpcCode, RpcError } from './faults.ts';
import {
  CLIENT_INFO,
  type ConnectOptions,
  type McpClient,
  type McpClientOwner,
  type McpProtocol,
  type McpRequest,
  type McpRequestOptions,
  type McpSdk,
  type Transport,
} from './mcp-client.ts';
import { clientCapabilities, type Questions, toSdkAnswer } from './questions.ts';
import { sdkTransports } from './transports.ts';

const NAME = '@modelcontextprotocol/client';
const MODERN = '2026-07-28';
/** The pause before a stream of changes that broke is opened again: at first, and at most. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/** Any object: results are read more tolerantly than by the SDK, whose checks fail a whole list for one tool. */
const ANY_RESULT: ClientModule.StandardSchemaV1<unknown, JsonObject> = {
  // The cast: the SDK has checked that a result is an object.
  '~standard': { version: 1, vendor: CLIENT_INFO.name, validate: (value) => ({ value: value as JsonObject }) },
};

type Sdk = typeof ClientModule & typeof StdioModule;

/** Undefined if the package is not installed. */
export function sdkV2(): McpSdk | undefined {
  const main = optionalPeer<typeof ClientModule>(NAME);
  const stdio = optionalPeer<typeof StdioModule>(NAME, `${NAME}/stdio`);
  if (!main || !stdio) return undefined;
  const sdk = { ...main, ...stdio };
  // A class of its own, because the SDK starts processes of its class twice: the first one for the probe alone.
  const StdioClientTransport = class extends stdio.StdioClientTransport {};
  return {
    ...sdkTransports({ ...sdk, StdioClientTransport }),
    createClient: (owner) => new ClientV2(sdk, owner),
  };
}

class ClientV2 implements McpClient {
  private readonly sdk: Sdk;
  private readonly owner: McpClientOwner;
  private readonly client: ClientModule.Client;
  private readonly closed = new AbortController();
  private era: McpProtocol['era'] = 'legacy';

  constructor(sdk: Sdk, owner: McpClientOwner) {
    this.sdk = sdk;
    this.owner = owner;
    this.client = new sdk.Client(CLIENT_INFO, { capabilities: clientCapabilities(owner.questions) });
    this.client.setNotificationHandler('notifications/tools/list_changed', () => owner.onListChanged());
    this.client.onclose = () => this.closed.abort();
    this.answer(owner.questions);
  }

  get hasResources(): boolean {
    return this.client.getServerCapabilities()?.resources !== undefined;
  }

  async connect(transport: Transport, { beginning, probeMs, signal, timeoutMs }: ConnectOptions): Promise<McpProtocol> {
    const probe = { timeoutMs: beginning === 'probe' ? probeMs : timeoutMs };
    const mode = beginning === 'modern' ? { pin: MODERN } : ('auto' as const);
    this.client.setVersionNegotiation(beginning === 'legacy' ? { mode: 'legacy' } : { mode, probe });
    // The cast: made by the same SDK.
    await this.client
      .connect(transport as ClientModule.Transport, { signal, timeout: timeoutMs })
      .catch((error) => this.fail(error));
    this.era = this.client.getProtocolEra() ?? 'legacy';
    if (this.era === 'modern') void this.watchChanges();
    return { era: this.era, version: this.client.getNegotiatedProtocolVersion() };
  }

  async request({ method, params, inputSchema }: McpRequest, { signal, timeoutMs, onProgress }: McpRequestOptions) {
    // Requesting progress keeps proxies from timing out slow calls.
    const options = { signal, timeout: timeoutMs, resetTimeoutOnProgress: true, onprogress: onProgress ?? (() => {}) };
    const hasHeaders = inputSchema !== undefined && JSON.stringify(inputSchema).includes('"x-mcp-header"');
    const answer =
      this.era === 'modern' && hasHeaders
        ? this.callWithHeaders(params, inputSchema, options)
        : this.client.request({ method, params }, ANY_RESULT, options);
    return answer.catch((error): never => this.fail(error));
  }

  onClose(listener: () => void): void {
    this.closed.signal.addEventListener('abort', listener, { once: true });
  }

  /** Some arguments are headers, too, for the sake of proxies. */
  private callWithHeaders(
    params: JsonObject,
    inputSchema: JsonObject,
    options: ClientModule.RequestOptions,
  ): Promise<JsonObject> {
    // The casts: as the server and the caller wrote them; the SDK reads the properties alone.
    const toolDefinition = { name: params.name, inputSchema } as ClientModule.Tool;
    return this.client.callTool(params as ClientModule.CallToolRequest['params'], { ...options, toolDefinition });
  }

  /** Servers of the modern era announce changes only on a stream that the client requests. */
  private async watchChanges(): Promise<void> {
    const { signal } = this.closed;
    let pause = FIRST_PAUSE_MS;
    while (this.client.getServerCapabilities()?.tools?.listChanged && !signal.aborted) {
      const stream = await this.client.listen({ toolsListChanged: true }, { signal }).catch(() => undefined);
      if ((await stream?.closed) === 'local') return;
      pause = stream ? FIRST_PAUSE_MS : Math.min(MAX_PAUSE_MS, pause * 2);
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      // No changes were reported meanwhile.
      if (stream && !signal.aborted) this.owner.onListChanged();
    }
  }

  private answer({ elicit, sample }: Questions): void {
    if (elicit)
      this.client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) =>
        toSdkAnswer<ClientModule.ElicitResult>(elicit(params, mcpReq.signal), this.sdk.ProtocolError),
      );
    if (sample)
      this.client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) =>
        toSdkAnswer<ClientModule.CreateMessageResult>(sample(params, mcpReq.signal), this.sdk.ProtocolError),
      );
  }

  private fail(error: unknown): never {
    throw toClientFault(this.sdk, error);
  }
}

function toClientFault(sdk: Sdk, error: unknown): unknown {
  if (error instanceof sdk.ProtocolError) return new RpcError(error.code, error.message);
  if (error instanceof sdk.UnauthorizedError) return new HttpStatusError(401);
  if (error instanceof sdk.InsufficientScopeError) return new HttpStatusError(403);
  if (error instanceof sdk.SdkHttpError && error.status >= 400) {
    // The server's answer, which some of the SDK's messages lack.
    const { message, data } = error;
    const isWhole = typeof data.text !== 'string' || data.text === '' || message.includes(data.text);
    return new HttpStatusError(error.status, isWhole ? message : `${message}: ${data.text}`);
  }
  if (error instanceof sdk.SseError && error.code !== undefined && error.code >= 400)
    return new HttpStatusError(error.code, error.message);
  if (!(error instanceof sdk.SdkError)) return error;
  const { SdkErrorCode } = sdk;
  const { code, message, cause } = error;
  switch (code) {
    case SdkErrorCode.ConnectionClosed:
      return new RpcError(RpcCode.connectionClosed, message);
    case SdkErrorCode.RequestTimeout:
      return new RpcError(RpcCode.timedOut, message);
    case SdkErrorCode.InvalidResult:
    case SdkErrorCode.UnsupportedResultType:
    case SdkErrorCode.InputRequiredRoundsExceeded:
    case SdkErrorCode.CapabilityNotSupported:
      return new RpcError(RpcCode.internalError, message);
    case SdkErrorCode.EraNegotiationFailed:
      return message.includes('probed in place') ? new ProbeRefusedError(message) : (cause ?? error);
    default:
      return error;
  }
}
