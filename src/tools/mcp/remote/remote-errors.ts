/** The errors that clients receive for unusable servers that they named. */

import type { RemoteServer } from '../../../ports/remote-servers.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { EgressError, type EgressErrorCode } from '../../egress/egress-error.ts';
import { httpStatusError, McpCallError } from '../shared/call-error.ts';
import { RpcCode } from '../shared/client/faults.ts';

const MESSAGE_CHARACTERS = 4_096;

/** The invalid field of the tool, whatever host it names. */
const AT_FAULT: Readonly<Partial<Record<EgressErrorCode, string>>> = {
  url_refused: 'server_url',
  request_refused: 'headers',
};

/** Errors that depend on the host: distinct errors would show untrusted callers which names and addresses exist. */
const OF_HOST: ReadonlySet<EgressErrorCode> = new Set(['host_refused', 'address_refused', 'unresolved']);

const UNREACHABLE = 'its host is not known, does not answer, or is not one that this server may go to.';

/** There was no answer: the name has no address, the address is not open, or the connection was refused. */
export class SilentServer extends Error {
  override readonly name = 'SilentServer';
}

/** A server that cannot be reached: the error reveals no more. */
export class UnreachableError extends ApiError {}

/** Why a server cannot be opened. Its cause, for logs, is the original error, which may contain an address, and no secrets. */
export function openError({ label, param }: Pick<RemoteServer, 'label' | 'param'>, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof McpCallError)
    return new ApiError('http_error', httpStatusError(label, error.code).message.slice(0, MESSAGE_CHARACTERS), {
      param,
      cause: error,
    });
  if (error instanceof SilentServer || (error instanceof EgressError && OF_HOST.has(error.code))) {
    const text = `The MCP server '${label}' cannot be reached: ${UNREACHABLE}`;
    return new UnreachableError('mcp_server_unavailable', text, { param: `${param}.server_url`, cause: error });
  }
  const { message } = error instanceof Error ? error : new Error(String(error));
  const field = error instanceof EgressError ? AT_FAULT[error.code] : undefined;
  if (field !== undefined) return new ApiError('invalid_value', message, { param: `${param}.${field}`, cause: error });
  const text = `The MCP server '${label}' is not available: ${message}`.slice(0, MESSAGE_CHARACTERS);
  return new ApiError('mcp_server_unavailable', text, { param, cause: error });
}

/** The same for a call, whose server was reachable before. */
export function callError(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { cause, message } = error;
  if (cause instanceof McpCallError) return new McpCallError(cause.type, cause.code, message);
  return new McpCallError('mcp_protocol_error', RpcCode.connectionClosed, message);
}
