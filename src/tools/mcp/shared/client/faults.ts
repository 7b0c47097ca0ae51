/** The errors of MCP clients, in the same form whichever SDK is installed. */

/** The codes of JSON-RPC and of MCP that mean something here. */
export const RpcCode = {
  connectionClosed: -32000,
  timedOut: -32001,
  unsupportedVersion: -32022,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

/** The SDKs of both sides put the code in front of the message. */
const PREFIX = /^(?:MCP error -?\d+: )+/;

/** The server answered a request with an error, or the connection closed before it did. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  /** As in JSON-RPC. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message.replace(PREFIX, ''));
    this.code = code;
  }
}

/** The server answered with an HTTP status that is an error. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  readonly status: number;

  constructor(status: number, message = `The server answered with HTTP ${status}.`) {
    super(message);
    this.status = status;
  }
}

/** The server ended when it was asked which protocol it speaks, as some do that expect to be introduced to first. */
export class ProbeRefusedError extends Error {
  override readonly name = 'ProbeRefusedError';
}

/** The server speaks only versions of MCP that are newer than the installed SDK. */
export class NewerProtocolError extends Error {
  override readonly name = 'NewerProtocolError';

  constructor() {
    super('It speaks a newer version of MCP, which needs a package: npm install @modelcontextprotocol/client');
  }
}
