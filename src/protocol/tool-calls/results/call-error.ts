/** The reason why a call of a server-run tool failed: for clients in an `mcp_call`, and as text for a model. */
import type { McpToolCallError } from '../../items.ts';
import { isRecord, thrownText } from '../../record.ts';

/** Codes of JSON-RPC and of the MCP SDKs. */
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const REQUEST_TIMEOUT = -32001;

/** A call that produced no result of the tool. */
export function protocolError(code: number, message: string): McpToolCallError {
  return { type: 'mcp_protocol_error', code, message };
}

/** A tool that ran and failed. */
export function executionError(text: string): McpToolCallError {
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] };
}

/**
 * An error that a provider threw: with a `type` and a `code` it is used as it is, any other is a failure of the tool.
 */
export function toCallError(thrown: unknown): McpToolCallError {
  const message = thrownText(thrown);
  const { type, code } = isRecord(thrown) ? thrown : {};
  const isTyped = type === 'mcp_protocol_error' || type === 'http_error';
  return isTyped && typeof code === 'number' ? { type, code, message } : executionError(message);
}

/** The error of a call as text. Conversations of earlier versions, and other servers' clients, have it as text. */
export function callErrorText(error: unknown): string {
  if (error === undefined || error === null) return '(no output was recorded)';
  if (typeof error === 'string') return error;
  if (!isRecord(error)) return String(error);
  if (typeof error.message === 'string') return error.message;
  if (!Array.isArray(error.content)) return JSON.stringify(error);
  return error.content
    .map((block) => (isRecord(block) && typeof block.text === 'string' ? block.text : JSON.stringify(block)))
    .join('\n');
}
