/** All types of tool calls: a new one is a file in this folder, and a line here. */
import type { Item, ToolCallType } from '../items.ts';
import { codeInterpreterCall } from './code-interpreter-call.ts';
import { customToolCall } from './custom-tool-call.ts';
import { functionCall } from './function-call.ts';
import { imageGenerationCall } from './image-generation-call.ts';
import type { AnsweredToolCall, ToolCallKind, WrittenToolCallKind } from './kind.ts';
import { mcpCall } from './mcp-call.ts';
import { toolSearchCall } from './tool-search-call.ts';
import { webSearchCall } from './web-search-call.ts';

const WRITTEN: Readonly<Record<ToolCallType, WrittenToolCallKind>> = {
  function_call: functionCall,
  custom_tool_call: customToolCall,
  mcp_call: mcpCall,
  code_interpreter_call: codeInterpreterCall,
  tool_search_call: toolSearchCall,
};

const WRITTEN_BY_TYPE: ReadonlyMap<string, WrittenToolCallKind> = new Map(Object.entries(WRITTEN));
const BY_TYPE: ReadonlyMap<string, ToolCallKind> = new Map<string, ToolCallKind>([
  ...WRITTEN_BY_TYPE,
  [webSearchCall.type, webSearchCall],
  [imageGenerationCall.type, imageGenerationCall],
]);

/** The call type of this name. */
export function kindOf(type: ToolCallType): WrittenToolCallKind {
  return WRITTEN[type];
}

/** The call type of an item; undefined for an item that is not a tool call. */
export function toolCallKind({ type }: Pick<Item, 'type'>): ToolCallKind | undefined {
  return BY_TYPE.get(type);
}

/** The same for a call whose arguments a model sent to this server. */
export function writtenKind({ type }: Pick<Item, 'type'>): WrittenToolCallKind | undefined {
  return WRITTEN_BY_TYPE.get(type);
}

/** The call type that shows calls of a tool of this requested type; undefined for other tools. */
export function kindServing(tool: string | undefined): WrittenToolCallKind | undefined {
  return tool === undefined ? undefined : [...WRITTEN_BY_TYPE.values()].find((kind) => kind.tool === tool);
}

/** A call with its answer: that of a client or of a search is a separate item, another tool's is in the same one. */
export function answeredToolCall(item: Item, outputs: ReadonlyMap<Item, Item>): AnsweredToolCall | undefined {
  const answer = outputs.get(item);
  return writtenKind(item)?.answered(item, answer?.output ?? answer?.tools);
}

/** Which fields of an item a client is shown. */
export type PresentItem = (item: Item) => Item;

/**
 * From the client's `include`: outputs of code are stored for the model, and an image among them may have megabytes.
 */
export function itemPresenter(include: unknown): PresentItem {
  const included = new Set([include].flat());
  return (item) => {
    const field = toolCallKind(item)?.includable;
    return field === undefined || included.has(`${item.type}.${field}`) ? item : { ...item, [field]: null };
  };
}

/** The same from a request's query; SDKs write `include[]`, and not every framework removes the brackets. */
export function queryPresenter(query: Readonly<Record<string, unknown>>): PresentItem {
  return itemPresenter(query.include ?? query['include[]']);
}
