/** The items that calls are shown as, from their beginning to their result. */

import { executionError } from '../protocol/call-error.ts';
import type { ToolCallOutcome, ToolCallType } from '../protocol/events.ts';
import type { CodeInterpreterCallItem, CodeOutput, ItemStatus, McpCallItem, OutputItem } from '../protocol/items.ts';
import { toolOutputText } from '../protocol/output-text.ts';
import type { OpenToolCall, PendingToolCall, TurnPlan } from './state.ts';

/** The one kind of item that shows the call. */
export function shownAs(
  { ownedAs }: Pick<TurnPlan, 'ownedAs'>,
  { owner, form }: Pick<OpenToolCall, 'owner' | 'form'>,
): ToolCallType {
  if (owner) return owner.container === undefined ? ownedAs : 'code_interpreter_call';
  return form?.kind === 'custom' ? 'custom_tool_call' : 'function_call';
}

/** The call without a result. */
export function callItem(plan: TurnPlan, call: OpenToolCall, status: ItemStatus): OutputItem {
  const { id, callId, input, arguments: text } = call;
  const head = { status, call_id: callId, ...clientsName(call) };
  switch (shownAs(plan, call)) {
    case 'mcp_call':
      return mcpCall(call, status, null, null);
    case 'code_interpreter_call':
      return codeCall(call, status, null);
    case 'custom_tool_call':
      return { id, type: 'custom_tool_call', ...head, input };
    case 'function_call':
      return { id, type: 'function_call', ...head, arguments: text };
  }
}

/** The call with its result, where one item shows both. */
export function ranItem(
  plan: TurnPlan,
  call: PendingToolCall,
  { output, failed, outputs, error }: ToolCallOutcome,
): OutputItem {
  const status = failed ? 'failed' : 'completed';
  const text = toolOutputText(output);
  if (shownAs(plan, call) === 'code_interpreter_call')
    return codeCall(call, status, outputs ?? [{ type: 'logs', logs: text }]);
  return failed ? mcpCall(call, status, null, error ?? executionError(text)) : mcpCall(call, status, text, null);
}

/** What the client calls the tool. */
export function clientsName({ name, form }: OpenToolCall): { readonly name: string; readonly namespace?: string } {
  if (form?.namespace === undefined) return { name: form?.name ?? name };
  return { name: form.name, namespace: form.namespace };
}

function mcpCall(
  { id, name, owner, arguments: text, approvalRequestId }: OpenToolCall,
  status: McpCallItem['status'],
  output: string | null,
  error: McpCallItem['error'],
): McpCallItem {
  return {
    id,
    type: 'mcp_call',
    status,
    approval_request_id: approvalRequestId ?? null,
    arguments: text,
    error,
    name: owner?.name ?? name,
    output,
    server_label: owner?.server ?? '',
  };
}

function codeCall(
  { id, owner, input }: OpenToolCall,
  status: CodeInterpreterCallItem['status'],
  outputs: readonly CodeOutput[] | null,
): CodeInterpreterCallItem {
  return { id, type: 'code_interpreter_call', status, container_id: owner?.container ?? '', code: input, outputs };
}
