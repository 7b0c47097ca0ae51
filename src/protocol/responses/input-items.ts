/** Reads the input of a request as items. */
import { inputItemId } from '../ids.ts';
import type { Item } from '../items.ts';
import { isRecord, type JsonObject, withFields } from '../record.ts';
import { answeredId, writtenKind } from '../tool-calls/kinds.ts';
import { itemType } from './item-type.ts';
import { withoutSecrets } from './tool-secrets.ts';

/** Of items that are no calls. */
const ID_PREFIX: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call_output: 'fco',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
  shell_call_output: 'sho',
  local_shell_call_output: 'lsho',
  apply_patch_call_output: 'apco',
  mcp_list_tools: 'mcpl',
  mcp_approval_request: 'mcpr',
  tool_search_output: 'tso',
  multi_agent_call_output: 'maco',
  agent_message: 'amsg',
};

/** The request's own items, each with an id, a type and, if it is a message, a list of parts. */
export function inputItems(input: unknown, seed: string): readonly Item[] {
  return inputList(input).map((fields, index) => {
    const type = itemType(fields);
    const ownPrefix = Object.hasOwn(ID_PREFIX, type) ? ID_PREFIX[type] : undefined;
    // The answer to a local shell has the id of its call, which some model servers give to several calls.
    const callId = type.endsWith('_output') ? (fields.call_id ?? answeredId({ ...fields, type })) : undefined;
    const ownId = typeof fields.id === 'string' && fields.id !== callId ? fields.id : '';
    const id = ownId || inputItemId(writtenKind({ type })?.idPrefix ?? ownPrefix ?? 'item', seed, index);
    const status = fields.status ?? 'completed';
    // One copy for each item: there may be 100,000.
    if (type === 'message') return withFields(fields, { type, id, status, content: messageParts(fields) });
    // Items of several types bring tools; a list of a server's tools was made here, and has no secrets.
    // The cast: the rest of an item, with its type and its id, is an item.
    if (Array.isArray(fields.tools) && type !== 'mcp_list_tools')
      return withoutSecrets({ ...fields, type, id, tools: fields.tools.filter(isRecord) }) as Item;
    if (!type.endsWith('_output')) return withFields(fields, { type, id });
    return withFields(fields, callId === undefined ? { type, id, status } : { type, id, status, call_id: callId });
  });
}

/** The items of an input as they were sent; a text is a message of the user. */
export function inputList(input: unknown): readonly JsonObject[] {
  if (input === undefined || input === null) return [];
  return Array.isArray(input) ? input : [{ role: 'user', content: input }];
}

function messageParts({ role, content }: JsonObject): unknown {
  if (typeof content !== 'string') return content ?? [];
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [], logprobs: [] }]
    : [{ type: 'input_text', text: content }];
}

/**
 * The tools that agents send as items of the input, or that the client's search has found; an unvalidated list may hold
 * anything.
 */
export function additionalTools(items: readonly unknown[]): readonly JsonObject[] {
  const found: JsonObject[] = [];
  // Loops, here and for every request: most of thousands of items hold none.
  for (const item of items) {
    if (!isRecord(item) || !Array.isArray(item.tools)) continue;
    const isFound = item.type === 'tool_search_output';
    if (item.type !== 'additional_tools' && !(isFound && item.execution === 'client')) continue;
    for (const tool of item.tools) if (isRecord(tool)) found.push(isFound ? foundTool(tool) : tool);
  }
  return found;
}

/** Marks a tool, or a namespace of tools, that the client's search has found, within this server. */
export const FOUND = 'found_by_search';

/** A tool that was found is offered from then on. */
function foundTool(tool: JsonObject): JsonObject {
  const whole = { ...tool, defer_loading: false, [FOUND]: true };
  if (tool.type !== 'namespace' || !Array.isArray(tool.tools)) return whole;
  return { ...whole, tools: tool.tools.filter(isRecord).map((each) => ({ ...each, defer_loading: false })) };
}
