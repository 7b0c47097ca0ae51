/** Every kind of tool call there is: a new one is a file beside this one, and a line here. */
import type { Item, ToolCallType } from '../items.ts';
import { codeInterpreterCall } from './code-interpreter-call.ts';
import { customToolCall } from './custom-tool-call.ts';
import { functionCall } from './function-call.ts';
import { imageGenerationCall } from './image-generation-call.ts';
import type { AnsweredToolCall, ToolCallKind, WrittenToolCallKind } from './kind.ts';
import { mcpCall } from './mcp-call.ts';
import { webSearchCall } from './web-search-call.ts';

const WRITTEN: Readonly<Record<ToolCallType, WrittenToolCallKind>> = {
  function_call: functionCall,
  custom_tool_call: customToolCall,
  mcp_call: mcpCall,
  code_interpreter_call: codeInterpreterCall,
};

const WRITTEN_BY_TYPE: ReadonlyMap<string, WrittenToolCallKind> = new Map(Object.entries(WRITTEN));
const BY_TYPE: ReadonlyMap<string, ToolCallKind> = new Map<string, ToolCallKind>([
  ...WRITTEN_BY_TYPE,
  [webSearchCall.type, webSearchCall],
  [imageGenerationCall.type, imageGenerationCall],
]);

/** The kind of this name. */
export function kindOf(type: ToolCallType): WrittenToolCallKind {
  return WRITTEN[type];
}

/** The kind of an item; undefined for one that is no tool call. */
export function toolCallKind({ type }: Pick<Item, 'type'>): ToolCallKind | undefined {
  return BY_TYPE.get(type);
}

/** The same for a call whose arguments a model wrote to us. */
export function writtenKind({ type }: Pick<Item, 'type'>): WrittenToolCallKind | undefined {
  return WRITTEN_BY_TYPE.get(type);
}

/** The kind with which calls are shown of a tool that requests ask for by this type; undefined for other tools. */
export function kindServing(tool: string | undefined): WrittenToolCallKind | undefined {
  return tool === undefined ? undefined : [...WRITTEN_BY_TYPE.values()].find((kind) => kind.tool === tool);
}

/** A call whose answer is known: the client's in its own item, a hosted tool's in the same one. */
export function answeredToolCall(item: Item, outputs: ReadonlyMap<Item, Item>): AnsweredToolCall | undefined {
  return writtenKind(item)?.answered(item, outputs.get(item)?.output);
}

/** What a client is shown of an item. */
export type PresentItem = (item: Item) => Item;

/**
 * By what the client's `include` asks for: outputs of code are kept for the model, and a picture among them may have
 * megabytes.
 */
export function itemPresenter(include: unknown): PresentItem {
  const included = new Set([include].flat());
  return (item) => {
    const field = toolCallKind(item)?.includable;
    return field === undefined || included.has(`${item.type}.${field}`) ? item : { ...item, [field]: null };
  };
}

/** The same by a request's query; SDKs write `include[]`, and not every framework takes the brackets off. */
export function queryPresenter(query: Readonly<Record<string, unknown>>): PresentItem {
  return itemPresenter(query.include ?? query['include[]']);
}
