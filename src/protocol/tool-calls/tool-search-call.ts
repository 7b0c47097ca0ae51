/** A search for tools that the model is not offered yet. This server runs it, and an item of its own shows what was found. */
import type { FoundTool, Item, ToolSearchCallItem } from '../items.ts';
import { isRecord, type JsonObject, plainTextOf } from '../record.ts';
import type { ShownCall, WrittenToolCallKind } from './kind.ts';
import { TOOL_SEARCH } from './tool-names.ts';

/** `tool_search_call` */
export const toolSearchCall: WrittenToolCallKind = {
  type: 'tool_search_call',
  tool: TOOL_SEARCH,
  idPrefix: 'tsc',
  runBy: 'server',
  field: 'arguments',
  plainAs: 'function_call',
  states: {},
  item: (call, status) => itemOf(call, status),
  finished: (call) => itemOf(call, 'completed'),
  outputItem: {
    idPrefix: 'tso',
    item: (_, id, result) => ({
      id,
      type: 'tool_search_output',
      status: result ? 'completed' : 'in_progress',
      call_id: null,
      execution: 'server',
      tools: namespacesOf(result?.found ?? []),
    }),
  },
  answered: ({ call_id: id, name, arguments: given, output }, answer) => ({
    id: id ?? undefined,
    name: name ?? TOOL_SEARCH,
    arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}),
    output: output ?? (typeof answer === 'string' ? answer : foundText(answer)),
    failed: false,
  }),
  modelName: (_, names) => names.serving(TOOL_SEARCH) ?? TOOL_SEARCH,
};

function itemOf({ id, arguments: text }: ShownCall, status: ToolSearchCallItem['status']): ToolSearchCallItem {
  return { id, type: 'tool_search_call', status, call_id: null, execution: 'server', arguments: objectIn(text) };
}

function objectIn(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

/** The tools as OpenAI shows those of servers: in a namespace for each server, in the order in which they were found. */
export function namespacesOf(found: readonly FoundTool[]): readonly JsonObject[] {
  const byServer = new Map<string, JsonObject[]>();
  for (const { server, tool } of found) {
    const { name, description = null, input_schema: parameters } = tool;
    const shown = { type: 'function', name, description, parameters, strict: null, defer_loading: true };
    const known = byServer.get(server);
    if (known) known.push(shown);
    else byServer.set(server, [shown]);
  }
  return [...byServer].map(([name, tools]) => ({
    type: 'namespace',
    name,
    description: `Tools of the server '${name}'.`,
    tools,
  }));
}

/** A tool in the output of a search; `server` is undefined for one without a namespace. */
interface NamedTool {
  readonly server: string | undefined;
  readonly name: string;
}

/** The tools in the output of a search, which a client may have sent. */
export function toolsFound(tools: unknown): readonly NamedTool[] {
  if (!Array.isArray(tools)) return [];
  return tools.filter(isRecord).flatMap((tool): readonly NamedTool[] => {
    const name = plainTextOf(tool.name);
    if (tool.type !== 'namespace') return name === '' ? [] : [{ server: undefined, name }];
    const inner = Array.isArray(tool.tools) ? tool.tools.filter(isRecord) : [];
    return inner.map((each) => ({ server: name, name: plainTextOf(each.name) }));
  });
}

/** What the model is told of a search: the names alone, since the tools themselves are in its next request. */
export function foundText(tools: unknown, nameOf: (tool: NamedTool) => string = ({ name }) => name): string {
  const found = toolsFound(tools).map(nameOf);
  return JSON.stringify(found.length > 0 ? { found } : { found, note: 'No tool fits. Search again with other words.' });
}

/** The names in such a text, where the search is shown as a plain function call. */
export function namesInText(text: unknown): readonly string[] {
  if (typeof text !== 'string' || !text.startsWith('{"found":')) return [];
  const { found } = objectIn(text);
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string') : [];
}

/** Whether the item is the output of a search. */
export function isSearchOutput({ type }: Item): boolean {
  return type === 'tool_search_output';
}
