/** Why a call of a server-run tool failed: as clients see it in an `mcp_call`, and in words for a model. */
import type { McpToolCallError } from '../items.ts';
import { isRecord } from '../record.ts';

/** Codes of JSON-RPC and of the MCP SDKs. */
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
export const REQUEST_TIMEOUT = -32001;

/** A call that did not get as far as a result of the tool. */
export function protocolError(code: number, message: string): McpToolCallError {
  return { type: 'mcp_protocol_error', code, message };
}

/** A tool that ran and failed. */
export function executionError(text: string): McpToolCallError {
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] };
}

/** What a provider threw: an error with a `type` and a `code` says itself what it is, any other is a failure of the tool. */
export function callErrorOf(thrown: unknown): McpToolCallError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const { type, code } = isRecord(thrown) ? thrown : {};
  const isTyped = type === 'mcp_protocol_error' || type === 'http_error';
  return isTyped && typeof code === 'number' ? { type, code, message } : executionError(message);
}

/** The error of a call in words. Conversations of earlier versions, and other servers' clients, have it as text. */
export function callErrorText(error: unknown): string {
  if (error === undefined || error === null) return '(no output was recorded)';
  if (typeof error === 'string') return error;
  if (!isRecord(error)) return String(error);
  if (typeof error.message === 'string') return error.message;
  return Array.isArray(error.content) ? error.content.map(blockText).join('\n') : JSON.stringify(error);
}

function blockText(block: unknown): string {
  return isRecord(block) && typeof block.text === 'string' ? block.text : JSON.stringify(block);
}
