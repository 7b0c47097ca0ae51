/** What a client has to send before a response can be continued: the results of its calls, and its decisions. */
import type { Item, OutputItem } from '../../protocol/items.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { owedByClient } from '../../protocol/tool-calls/pair-calls.ts';

/** An input item without its result. */
export type RequiredInput = JsonObject & { readonly type: string };

/** The input items that answer these, in their order. */
export function requiredInput(output: readonly OutputItem[]): readonly RequiredInput[] {
  return owedByClient(output).map(stubOf);
}

function stubOf(item: Item): RequiredInput {
  if (item.type === 'mcp_approval_request') return { type: 'mcp_approval_response', approval_request_id: item.id };
  const type = writtenKind(item)?.answeredBy?.type ?? 'tool_search_output';
  return { type, call_id: item.call_id, ...(item.type === 'function_call' ? { name: item.name } : {}) };
}
