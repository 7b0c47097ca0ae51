/** What a client has to send before a response can be continued: the results of its calls, and its decisions. */
import type { Item, OutputItem } from '../protocol/items.ts';
import type { JsonObject } from '../protocol/record.ts';
import { toolCallKind, writtenKind } from '../protocol/tool-calls/kinds.ts';

/** An input item without its result. */
export type RequiredInput = JsonObject & { readonly type: string };

/** The input items that answer these, in their order. */
export function requiredInput(output: readonly OutputItem[]): readonly RequiredInput[] {
  const answered = new Set(output.map((item) => (item.type === 'function_call_output' ? item.call_id : undefined)));
  return output.flatMap((item: Item): readonly RequiredInput[] => {
    if (item.type === 'mcp_approval_request') return [{ type: 'mcp_approval_response', approval_request_id: item.id }];
    if (toolCallKind(item)?.runBy !== 'client' || answered.has(String(item.call_id))) return [];
    return [stubOf(item)];
  });
}

function stubOf(item: Item): RequiredInput {
  const type = writtenKind(item)?.answeredBy?.type ?? 'tool_search_output';
  return { type, call_id: item.call_id, ...(item.type === 'function_call' ? { name: item.name } : {}) };
}
