/** What this package needs of an SDK for MCP, whichever one is installed. */

import type { ToolProgress } from '../../../../ports/tool-provider.ts';
import type { JsonObject } from '../../../../protocol/record.ts';
import { VERSION } from '../../../../protocol/version.ts';
import type { Questions } from './questions.ts';

/** How this package introduces itself to servers. The version is that of package.json. */
export const CLIENT_INFO = { name: 'express-open-responses', version: VERSION };

/** The era of MCP: `legacy` has sessions that begin with `initialize`, `modern` (2026-07-28) has none. */
export type ProtocolEra = 'legacy' | 'modern';

/** The protocol that a client and a server have agreed on. */
export interface McpProtocol {
  /** Which of the two. */
  readonly era: ProtocolEra;
  /** Such as `2025-11-25`; undefined if the SDK does not report it. */
  readonly version: string | undefined;
}

/** How a client begins: `probe` asks which era the server speaks. */
export type Beginning = ProtocolEra | 'probe';

/** The part that the transports of both SDKs have in common. */
export interface Transport {
  onclose?: (() => void) | undefined;
  send(message: object, options?: object): Promise<void>;
  close(): Promise<void>;
}

/** Starts a process. */
export interface ProcessTransport extends Transport {
  readonly stderr: { on(event: 'data', listener: (chunk: Buffer) => void): unknown } | null;
}

/** The transport over streamable HTTP. */
export interface SessionTransport extends Transport {
  terminateSession(): Promise<void>;
}

/** The process of a server. */
interface ProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the few variables that are safe to inherit. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** The largest message, in bytes. */
  readonly maxBufferSize: number;
}

/** An `OAuthClientProvider` of `@modelcontextprotocol/client` or `/sdk`: it keeps the tokens, and sends users to log in. */
export interface McpAuthProvider {
  /** Where users come back to; undefined for flows without users. */
  readonly redirectUrl: string | URL | undefined;
  /** The tokens that it has. */
  tokens(...args: never[]): unknown;
}

/** Fetch as the SDKs call it. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** How requests reach a server. */
export interface HttpOptions {
  readonly fetch: Fetch;
  readonly authProvider?: McpAuthProvider | undefined;
}

/** One request. */
export interface McpRequest {
  readonly method: 'tools/list' | 'tools/call' | 'resources/list' | 'resources/read';
  readonly params: JsonObject;
  /** The schema of the called tool's arguments, which may name arguments that are sent as headers, too. */
  readonly inputSchema?: JsonObject | undefined;
}

/** How a request ends early. */
export interface McpRequestOptions {
  readonly signal: AbortSignal;
  /** How long nothing may happen, in milliseconds. */
  readonly timeoutMs: number;
  readonly onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/** How a connection begins. */
export interface ConnectOptions extends Omit<McpRequestOptions, 'onProgress'> {
  readonly beginning: Beginning;
  /** How long a server may take to announce its era, in milliseconds. */
  readonly probeMs: number;
}

/** One client. What its methods reject with is described in `faults.ts`; other errors are those of the connection. */
export interface McpClient {
  connect(transport: Transport, options: ConnectOptions): Promise<McpProtocol>;
  request(request: McpRequest, options: McpRequestOptions): Promise<JsonObject>;
  /** Whether the server has resources; known once it is connected. */
  readonly hasResources: boolean;
  /** Calls the function when the connection ends, however that happens. */
  onClose(listener: () => void): void;
}

/** The callbacks of a client's owner. */
export interface McpClientOwner {
  onListChanged(): void;
  readonly questions: Questions;
}

/** One SDK. */
export interface McpSdk {
  createClient(owner: McpClientOwner): McpClient;
  processTransport(options: ProcessOptions): ProcessTransport;
  streamableTransport(url: URL, options: HttpOptions): SessionTransport;
  /** Closes itself if its stream breaks. */
  sseTransport(url: URL, options: HttpOptions): Transport;
}
