/** Reads the input of a request as items. */
import { inputItemId } from '../ids.ts';
import type { Item } from '../items.ts';
import { isRecord, type JsonObject, withFields } from '../record.ts';
import { writtenKind } from '../tool-calls/kinds.ts';
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
};

/** The request's own items, each with an id, a type and, if it is a message, a list of parts. */
export function inputItems(input: unknown, seed: string): readonly Item[] {
  return inputList(input).map((item, index) => wholeItem(item, seed, index));
}

/** The items of an input as they were sent; a text is a message of the user. */
export function inputList(input: unknown): readonly JsonObject[] {
  if (input === undefined || input === null) return [];
  return Array.isArray(input) ? input : [{ role: 'user', content: input }];
}

function wholeItem(fields: JsonObject, seed: string, index: number): Item {
  const type = itemType(fields);
  const id = typeof fields.id === 'string' && fields.id !== '' ? fields.id : inputItemId(idPrefix(type), seed, index);
  const status = fields.status ?? 'completed';
  // One copy for each item: there may be 100,000.
  if (type === 'message') return withFields(fields, { type, id, status, content: partsOf(fields) });
  // The cast: the rest of an item, with its type and its id, is an item.
  if (holdsTools(fields, type))
    return withoutSecrets({ ...fields, type, id, tools: fields.tools.filter(isRecord) }) as Item;
  return withFields(fields, type.endsWith('_output') ? { type, id, status } : { type, id });
}

function idPrefix(type: string): string {
  return writtenKind({ type })?.idPrefix ?? (Object.hasOwn(ID_PREFIX, type) ? ID_PREFIX[type] : undefined) ?? 'item';
}

/** Items of several types bring tools; a list of a server's tools was made here, and has no secrets. */
function holdsTools(fields: JsonObject, type: string): fields is JsonObject & { readonly tools: readonly unknown[] } {
  return Array.isArray(fields.tools) && type !== 'mcp_list_tools';
}

function partsOf({ role, content }: JsonObject): unknown {
  if (typeof content !== 'string') return content ?? [];
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [], logprobs: [] }]
    : [{ type: 'input_text', text: content }];
}

/** The tools that agents send as items of the input; an unvalidated list may hold anything. */
export function additionalTools(items: readonly unknown[]): readonly JsonObject[] {
  const found: JsonObject[] = [];
  // Loops, here and for every request: most of thousands of items hold none.
  for (const item of items)
    if (isToolList(item)) for (const tool of item.tools) if (isRecord(tool)) found.push(toolIn(item, tool));
  return found;
}

interface ToolList extends JsonObject {
  readonly tools: readonly unknown[];
}

/** Whether the item brings tools of the client's: agents' own, or those that its search has found. */
function isToolList(item: unknown): item is ToolList {
  if (!isRecord(item) || !Array.isArray(item.tools)) return false;
  return item.type === 'additional_tools' || (item.type === 'tool_search_output' && item.execution === 'client');
}

/** Marks a tool, or a namespace of tools, that the client's search has found, within this server. */
export const FOUND = 'found_by_search';

/** A tool that was found is offered from then on. */
function toolIn({ type }: ToolList, tool: JsonObject): JsonObject {
  if (type !== 'tool_search_output') return tool;
  if (tool.type !== 'namespace' || !Array.isArray(tool.tools)) return { ...withoutDeferral(tool), [FOUND]: true };
  return { ...withoutDeferral({ ...tool, tools: tool.tools.filter(isRecord).map(withoutDeferral) }), [FOUND]: true };
}

function withoutDeferral(tool: JsonObject): JsonObject {
  return { ...tool, defer_loading: false };
}
