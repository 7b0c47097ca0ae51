/** A call that failed without a result of the tool. */
import { STATUS_CODES } from 'node:http';
import { HttpStatusError, RpcCode, RpcError } from './client/faults.ts';
import type { ServerSettings } from './server-config.ts';

/**
 * Why a call has no result, in the form of OpenAI's `mcp_call.error`. Its message has no secrets and may be shown to the
 * model and the client; it has no cause, because causes get logged, and those of the SDK contain headers and URLs.
 */
export class McpCallError extends Error {
  override readonly name = 'McpCallError';
  /** Whether the protocol failed (then `code` is a JSON-RPC code) or HTTP did (then it is a status). */
  readonly type: 'mcp_protocol_error' | 'http_error';
  /** A JSON-RPC error code, or an HTTP status. */
  readonly code: number;

  constructor(type: McpCallError['type'], code: number, message: string) {
    super(message);
    this.type = type;
    this.code = code;
  }
}

/** Number of characters of a server's own error message that are passed on. */
const MAX_MESSAGE_CHARACTERS = 4_096;

/** The server cannot be reached, is in backoff, or was closed. */
export function unavailableError(label: string): McpCallError {
  return new McpCallError(
    'mcp_protocol_error',
    RpcCode.connectionClosed,
    `The MCP server '${label}' is not available.`,
  );
}

/** The host has no credentials of this user. */
export function noCredentialsError(label: string): McpCallError {
  const message = `There are no credentials for the MCP server '${label}'.`;
  return new McpCallError('mcp_protocol_error', RpcCode.internalError, message);
}

/** The server has no such tool, or the tool is not allowed. */
export function unknownToolError(label: string, tool: string): McpCallError {
  return new McpCallError(
    'mcp_protocol_error',
    RpcCode.invalidParams,
    `The MCP server '${label}' has no tool '${tool}'.`,
  );
}

/** Converts an error of a client, without its secrets. */
export function toCallError({ label, redact }: ServerSettings, error: unknown): McpCallError {
  if (error instanceof McpCallError) return error;
  if (error instanceof RpcError)
    return new McpCallError(
      'mcp_protocol_error',
      error.code,
      redact.error(error.message).slice(0, MAX_MESSAGE_CHARACTERS),
    );
  return openingError(label, error);
}

/** Why a connection could not be opened: the server's status, if it answered. */
export function openingError(label: string, error: unknown): McpCallError {
  return error instanceof HttpStatusError ? httpStatusError(label, error.status) : unavailableError(label);
}

/** The server answered a request with this HTTP status. */
export function httpStatusError(label: string, status: number): McpCallError {
  const reason = STATUS_CODES[status];
  const description = reason === undefined ? status : `${status} (${reason})`;
  return new McpCallError('http_error', status, `The MCP server '${label}' answered with HTTP ${description}.`);
}
