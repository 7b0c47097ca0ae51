/** The package `@modelcontextprotocol/sdk`, for servers that speak MCP up to 2025-11-25. */
import type * as AuthModule from '@modelcontextprotocol/sdk/client/auth.js';
import type * as ClientModule from '@modelcontextprotocol/sdk/client/index.js';
import type * as SseModule from '@modelcontextprotocol/sdk/client/sse.js';
import type * as StdioModule from '@modelcontextprotocol/sdk/client/stdio.js';
import type * as HttpModule from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as SdkTransport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type * as TypesModule from '@modelcontextprotocol/sdk/types.js';
import { requirePeer } from '../../../../ports/host/peer.ts';
import { HttpStatusError, NewerProtocolError, RpcCode, RpcError } from './faults.ts';
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

const NAME = '@modelcontextprotocol/sdk';

type Sdk = Pick<typeof AuthModule, 'UnauthorizedError'> &
  typeof ClientModule &
  typeof SseModule &
  typeof StdioModule &
  typeof HttpModule &
  typeof TypesModule;

/** Throws if the package is missing. */
export function sdkV1(): McpSdk {
  const { UnauthorizedError } = requireSdk<typeof AuthModule>('client/auth.js');
  const sdk: Sdk = {
    UnauthorizedError,
    ...requireSdk<typeof ClientModule>('client/index.js'),
    ...requireSdk<typeof SseModule>('client/sse.js'),
    ...requireSdk<typeof StdioModule>('client/stdio.js'),
    ...requireSdk<typeof HttpModule>('client/streamableHttp.js'),
    ...requireSdk<typeof TypesModule>('types.js'),
  };
  return { ...sdkTransports(sdk), createClient: (owner) => new ClientV1(sdk, owner) };
}

function requireSdk<Module>(path: string): Module {
  return requirePeer<Module>('express-open-responses/mcp', NAME, `${NAME}/${path}`);
}

class ClientV1 implements McpClient {
  private readonly sdk: Sdk;
  private readonly client: ClientModule.Client;

  constructor(sdk: Sdk, { onListChanged, questions }: McpClientOwner) {
    this.sdk = sdk;
    this.client = new sdk.Client(CLIENT_INFO, { capabilities: clientCapabilities(questions) });
    this.client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, onListChanged);
    this.answer(questions);
  }

  get hasResources(): boolean {
    return this.client.getServerCapabilities()?.resources !== undefined;
  }

  async connect(transport: Transport, { signal, timeoutMs }: ConnectOptions): Promise<McpProtocol> {
    // The cast: made by the same SDK.
    const version = watchVersion(transport as SdkTransport);
    await this.client
      .connect(transport as SdkTransport, { signal, timeout: timeoutMs })
      .catch((error) => this.fail(error));
    return { era: 'legacy', version: version() };
  }

  request({ method, params }: McpRequest, { signal, timeoutMs, onProgress }: McpRequestOptions) {
    // Requesting progress keeps proxies from timing out slow calls.
    const options = { signal, timeout: timeoutMs, resetTimeoutOnProgress: true, onprogress: onProgress ?? (() => {}) };
    return this.client
      .request({ method, params }, this.sdk.ResultSchema, options)
      .catch((error): never => this.fail(error));
  }

  onClose(listener: () => void): void {
    this.client.onclose = listener;
  }

  private answer({ elicit, sample }: Questions): void {
    const { CreateMessageRequestSchema, ElicitRequestSchema } = this.sdk;
    if (elicit)
      this.client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) =>
        toSdkAnswer<TypesModule.ElicitResult>(elicit(params, signal), this.sdk.McpError),
      );
    if (sample)
      this.client.setRequestHandler(CreateMessageRequestSchema, ({ params }, { signal }) =>
        toSdkAnswer<TypesModule.CreateMessageResult>(sample(params, signal), this.sdk.McpError),
      );
  }

  private fail(error: unknown): never {
    throw toClientFault(this.sdk, error);
  }
}

/** The version that is agreed on, which the SDK hands to the transport alone. */
function watchVersion(transport: SdkTransport): () => string | undefined {
  const setVersion = transport.setProtocolVersion?.bind(transport);
  let agreed: string | undefined;
  transport.setProtocolVersion = (version) => {
    agreed = version;
    setVersion?.(version);
  };
  return () => agreed;
}

/** The SDK uses -1 and undefined for answers that were invalid in another way. */
function toClientFault({ McpError, SseError, StreamableHTTPError, UnauthorizedError }: Sdk, error: unknown): unknown {
  if (error instanceof UnauthorizedError) return new HttpStatusError(401);
  if (error instanceof McpError)
    return isForNewer(error) ? new NewerProtocolError() : new RpcError(error.code, error.message);
  const isStatus = error instanceof StreamableHTTPError || error instanceof SseError;
  if (!isStatus || error.code === undefined || error.code < 400) return error;
  return isForNewer(error) ? new NewerProtocolError() : new HttpStatusError(error.code, error.message);
}

/** Whether the server refuses every version that this SDK speaks; over HTTP, its answer is known only as text. */
function isForNewer({ code, message }: { readonly code?: number | undefined; readonly message: string }): boolean {
  return code === RpcCode.unsupportedVersion || (code === 400 && message.includes(`${RpcCode.unsupportedVersion}`));
}
