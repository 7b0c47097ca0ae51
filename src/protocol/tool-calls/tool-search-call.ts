/** Searches for tools that the model is not offered yet. An item of its own shows what was found. */
import type { FoundTool, Item } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../record.ts';
import type { AnsweredToolCall, WrittenToolCallKind } from './kind.ts';

/** The model's name for the search for deferred tools, and the type by which requests may enable it. */
export const TOOL_SEARCH = 'tool_search';

/** `tool_search_call`, where this server runs the search */
export const toolSearchCall: WrittenToolCallKind = {
  type: 'tool_search_call',
  tool: TOOL_SEARCH,
  keptTerms: ['parameters'],
  idPrefix: 'tsc',
  runBy: 'server',
  field: 'arguments',
  plainAs: 'function_call',
  states: {},
  item: ({ id, arguments: text }, status) => ({
    id,
    type: 'tool_search_call',
    status,
    call_id: null,
    execution: 'server',
    arguments: objectIn(text) ?? {},
  }),
  outputItem: {
    idPrefix: 'tso',
    item: (_, id, result) => ({
      id,
      type: 'tool_search_output',
      status: result ? 'completed' : 'in_progress',
      call_id: null,
      execution: 'server',
      tools: foundNamespaces(result?.found ?? []),
    }),
  },
  answered: answeredSearch,
  modelName: (_, names) => names.serving(TOOL_SEARCH) ?? TOOL_SEARCH,
};

function answeredSearch({ call_id: id, name, arguments: query, output }: Item, answer: unknown): AnsweredToolCall {
  return {
    id: id ?? undefined,
    name: name ?? TOOL_SEARCH,
    arguments: typeof query === 'string' ? query : JSON.stringify(query ?? {}),
    output: output ?? (typeof answer === 'string' ? answer : foundText(answer)),
    failed: false,
  };
}

/** `tool_search_call`, where the client runs the search */
export const clientToolSearchCall: WrittenToolCallKind = {
  type: 'tool_search_call',
  idPrefix: toolSearchCall.idPrefix,
  runBy: 'client',
  field: 'arguments',
  states: {},
  functionFor: ({ execution, description, parameters }) => {
    if (execution !== 'client') return undefined;
    const about = plainText(description) || 'Finds tools that are not listed here.';
    return { name: TOOL_SEARCH, description: about, parameters: isRecord(parameters) ? parameters : QUERY };
  },
  item: ({ id, callId, arguments: text }, status) => ({
    id,
    type: 'tool_search_call',
    status,
    call_id: callId,
    execution: 'client',
    arguments: objectIn(text) ?? {},
  }),
  answered: (item, answer) => ({ ...answeredSearch(item, answer), name: TOOL_SEARCH }),
};

const QUERY = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };

/**
 * The tools as OpenAI shows them: in a namespace for each server or each of the client's namespaces, in the order in
 * which they were found; those of the client without a namespace stand alone.
 */
export function foundNamespaces(found: readonly FoundTool[]): readonly JsonObject[] {
  const shown: JsonObject[] = [];
  const byServer = new Map<string, JsonObject[]>();
  for (const each of found) {
    const { server, own } = each;
    const list = server === '' ? shown : (byServer.get(server) ?? []);
    if (list.length === 0 && list !== shown) {
      byServer.set(server, list);
      const description = each.serverDescription ?? `Tools of the ${own ? 'namespace' : 'server'} '${server}'.`;
      shown.push({ type: 'namespace', name: server, description, tools: list });
    }
    const { name, description = null, input_schema: parameters } = each.tool;
    list.push(own ?? { type: 'function', name, description, parameters, strict: null, defer_loading: true });
  }
  return shown;
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
    const name = plainText(tool.name);
    if (tool.type !== 'namespace') return name === '' ? [] : [{ server: undefined, name }];
    const inner = recordsIn(tool.tools);
    return inner.map((each) => ({ server: name, name: plainText(each.name) }));
  });
}

/** What the model receives of a search: the names alone, since the tools themselves are in its next request. */
export function foundText(tools: unknown, nameOf: (tool: NamedTool) => string = ({ name }) => name): string {
  const found = toolsFound(tools).map(nameOf);
  return JSON.stringify(found.length > 0 ? { found } : { found, note: 'No tool fits. Search again with other words.' });
}

/** The names in such a text, where the search is shown as a plain function call. */
export function namesInText(text: unknown): readonly string[] {
  if (typeof text !== 'string' || !text.startsWith('{"found":')) return [];
  const { found } = objectIn(text) ?? {};
  return Array.isArray(found) ? found.filter((name) => typeof name === 'string') : [];
}
