/** What clients are told of servers that they named and that cannot be used. */
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { EgressError, type EgressErrorCode } from '../../egress/egress-error.ts';
import type { RemoteServer } from '../../ports/remote-servers.ts';
import { ApiError } from '../../protocol/errors.ts';
import { McpCallError } from '../shared/call-error.ts';

const MESSAGE_CHARACTERS = 4_096;

/** The part of the tool that is at fault; the other codes are the server's doing. */
const AT_FAULT: Readonly<Partial<Record<EgressErrorCode, string>>> = {
  url_refused: 'server_url',
  address_refused: 'server_url',
  unresolved: 'server_url',
  request_refused: 'headers',
};

/** Why a server cannot be opened. The guard's own error is the cause, for logs: it holds an address, and no secrets. */
export function openError({ label, param }: Pick<RemoteServer, 'label' | 'param'>, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { message } = error instanceof Error ? error : new Error(String(error));
  const field = error instanceof EgressError ? AT_FAULT[error.code] : undefined;
  if (field !== undefined) return new ApiError('invalid_value', message, { param: `${param}.${field}`, cause: error });
  const text = `The MCP server '${label}' is not available: ${message}`.slice(0, MESSAGE_CHARACTERS);
  return new ApiError('mcp_server_unavailable', text, { param });
}

/** The same for a call, whose server was there before. */
export function callError(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  return new McpCallError('mcp_protocol_error', ErrorCode.ConnectionClosed, error.message);
}
