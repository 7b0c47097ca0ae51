/** A call that failed without a result of the tool. */
import { STATUS_CODES } from 'node:http';
import { ErrorCode, McpError, SseError, StreamableHTTPError } from './sdk.ts';
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
const MESSAGE_CHARACTERS = 4_096;
const PREFIX = /^(?:MCP error -?\d+: )+/;

/** The server cannot be reached, is in backoff, or was closed. */
export function unavailable(label: string): McpCallError {
  return new McpCallError(
    'mcp_protocol_error',
    ErrorCode.ConnectionClosed,
    `The MCP server '${label}' is not available.`,
  );
}

/** The server has no such tool, or the tool is not allowed. */
export function unknownTool(label: string, tool: string): McpCallError {
  return new McpCallError(
    'mcp_protocol_error',
    ErrorCode.InvalidParams,
    `The MCP server '${label}' has no tool '${tool}'.`,
  );
}

/** Converts an error of the SDK, without its secrets. */
export function toCallError({ label, redact }: ServerSettings, error: unknown): McpCallError {
  if (error instanceof McpCallError) return error;
  if (error instanceof McpError) {
    // The SDKs of both sides put the code in front of the message; here it has a field of its own.
    const message = redact.error(error.message.replace(PREFIX, '')).slice(0, MESSAGE_CHARACTERS);
    return new McpCallError('mcp_protocol_error', error.code, message);
  }
  return notOpened(label, error);
}

/** Why a connection could not be opened: the server's status, if it answered. */
export function notOpened(label: string, error: unknown): McpCallError {
  const status = httpStatusOf(error);
  return status === undefined ? unavailable(label) : refused(label, status);
}

/** The server answered a request with this HTTP status. */
export function refused(label: string, status: number): McpCallError {
  const reason = STATUS_CODES[status];
  const shown = reason === undefined ? status : `${status} (${reason})`;
  return new McpCallError('http_error', status, `The MCP server '${label}' answered with HTTP ${shown}.`);
}

/** A request that was answered with an error status. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  readonly code: number;

  constructor(code: number) {
    super(`The server answered with HTTP ${code}.`);
    this.code = code;
  }
}

/** The HTTP error behind an error. The SDK uses -1 and undefined for answers that were invalid in another way. */
export function httpStatusOf(error: unknown): number | undefined {
  const isStatus =
    error instanceof StreamableHTTPError || error instanceof SseError || error instanceof HttpStatusError;
  return isStatus && error.code !== undefined && error.code >= 400 ? error.code : undefined;
}

/** Whether the server no longer knows the session; it has then done nothing, so the call may be repeated. */
export function isForgottenSession(error: unknown): boolean {
  return error instanceof StreamableHTTPError && (error.code === 404 || error.code === 400);
}
