/** The tools that the model is offered only once it has found them, and the search for them. */

import type { ToolProvider } from '../../ports/tool-provider.ts';
import { listedTool, NO_TOOLS, type Toolset, type ToolsetEntry } from '../../ports/toolset.ts';
import type { FoundTool, Item, ToolCallResult } from '../../protocol/items.ts';
import type { ToolDefinition } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { type JsonObject, plainText } from '../../protocol/record.ts';
import { writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { mcpCall } from '../../protocol/tool-calls/mcp-call.ts';
import { INVALID_PARAMS, protocolError } from '../../protocol/tool-calls/results/call-error.ts';
import {
  foundNamespaces,
  foundText,
  namesInText,
  TOOL_SEARCH,
  toolsFound,
} from '../../protocol/tool-calls/tool-search-call.ts';
import { findTools } from './find-tools.ts';

/** The most deferred tools that are offered at once, because the conversation has found them or nothing can find them. */
const MAX_OFFERED = 512;

/** How the model may use the tools in a turn. */
interface ModelToolsetTerms {
  /** Whether the model may call the tool. */
  readonly allows: (name: string) => boolean;
  /** The deferred tools that are offered at once. */
  readonly known: ReadonlySet<string>;
  /** The deferred tools of the client. Default: none. */
  readonly ofClient?: Toolset;
}

/** The server-run tools of a turn, with the search that finds the hidden ones, and the deferred ones that are not hidden. */
export interface ModelToolset {
  readonly toolset: Toolset;
  readonly known: ReadonlySet<string>;
}

/** Whether any of the tools is deferred. */
export function hasDeferred(tools: readonly ToolsetEntry[]): boolean {
  return tools.some(({ tool }) => tool.deferred === true);
}

/**
 * The tools with a search for those that the model may call and is not offered. Without a search, because the client
 * has a tool of that name, they are all offered, up to a limit, with a note.
 */
export function modelToolset(
  toolset: Toolset,
  { allows, known, ofClient = NO_TOOLS }: ModelToolsetTerms,
  note: (note: Note) => void,
): ModelToolset {
  const hidden = [...toolset, ...ofClient].filter(([name, { tool }]) => tool.deferred === true && !known.has(name));
  if (hidden.length === 0) return { toolset: withoutTools(toolset, [TOOL_SEARCH]), known };
  if (!toolset.get(TOOL_SEARCH)?.search) return offerHidden(toolset, hidden, known, note);
  const findable = hidden.filter(([name]) => allows(name));
  if (findable.length === 0) return { toolset: withoutTools(toolset, [TOOL_SEARCH]), known };
  return { toolset: new Map(toolset).set(TOOL_SEARCH, toolSearch(findable)), known };
}

function withoutTools(toolset: Toolset, names: readonly string[]): Toolset {
  const gone = names.filter((name) => name !== TOOL_SEARCH || toolset.get(name)?.search);
  if (!gone.some((name) => toolset.has(name))) return toolset;
  const rest = new Map(toolset);
  for (const name of gone) rest.delete(name);
  return rest;
}

type NamedEntry = readonly [name: string, entry: ToolsetEntry];

/** Without a search, the model is offered the deferred tools themselves. */
function offerHidden(
  toolset: Toolset,
  hidden: readonly NamedEntry[],
  known: ReadonlySet<string>,
  note: (note: Note) => void,
): ModelToolset {
  const names = hidden.map(([name]) => name);
  const left = names.slice(MAX_OFFERED);
  const loss = left.length === 0 ? '' : `, except ${left.length}, which the model cannot call`;
  const message = `The client has a tool '${TOOL_SEARCH}' of its own, so deferred tools are offered at once${loss}.`;
  note({ code: 'tool_dropped', message });
  return { toolset: withoutTools(toolset, left), known: new Set([...known, ...names.slice(0, MAX_OFFERED)]) };
}

/** Nobody calls it: the search runs where the tools are known. */
const NO_PROVIDER: ToolProvider = {
  name: TOOL_SEARCH,
  list: () => [],
  call: () => Promise.reject(new Error('The search has no provider.')),
};

const DEFAULT_FINDS = 5;
const MAX_FINDS = 20;
const QUERY = {
  type: 'object',
  properties: {
    query: { type: 'string', description: 'Words for what the tool does, or of its name.' },
    limit: { type: 'integer', description: `How many tools to find, at most ${MAX_FINDS}. Default: ${DEFAULT_FINDS}.` },
  },
  required: ['query'],
};

/** A deferred tool of the client, which the search finds beside those of servers. */
export function deferredOfClient(
  tool: ToolDefinition,
  own: JsonObject,
  namespace = '',
  serverDescription: string | undefined = undefined,
): ToolsetEntry {
  return {
    provider: NO_PROVIDER,
    own,
    tool: { ...tool, name: plainText(own.name), server: namespace, serverDescription, deferred: true },
  };
}

/** The search for these tools, as a tool of its own. */
export function toolSearch(tools: readonly NamedEntry[]): ToolsetEntry {
  const entries = tools.map(([modelName, { tool, own }]) => ({ modelName, tool, ...(own ? { own } : {}) }));
  return {
    provider: NO_PROVIDER,
    tool: {
      server: TOOL_SEARCH,
      name: TOOL_SEARCH,
      requestedBy: TOOL_SEARCH,
      description: searchDescription(tools),
      parameters: QUERY,
      annotations: { readOnlyHint: true },
    },
    search({ query, limit }, maxBytes) {
      const words = plainText(query);
      if (words.trim() === '') {
        const message = 'input_validation_error: the query is empty';
        return { output: message, failed: true, error: protocolError(INVALID_PARAMS, message) };
      }
      const count = Math.min(Math.max(Number(limit ?? DEFAULT_FINDS), 1), MAX_FINDS);
      const found = findTools(entries, words, count).map(({ tool, ...entry }) => ({
        ...entry,
        server: tool.server,
        ...(tool.serverDescription === undefined ? {} : { serverDescription: tool.serverDescription }),
        tool: listedTool(tool),
      }));
      return searchResult(found, maxBytes);
    },
  };
}

/** Server labels in the description, and characters of what is said of each; a request may name thousands. */
const MAX_LABELS = 32;
const MAX_ABOUT = 400;

function searchDescription(tools: readonly NamedEntry[]): string {
  const labels = [...new Set(tools.map(([, { tool }]) => tool.server || "the user's own"))];
  const more = labels.length > MAX_LABELS ? ', …' : '';
  const shown = `${labels.slice(0, MAX_LABELS).join(', ')}${more}`;
  const about = new Map(tools.map(([, { tool }]) => [tool.server, tool.serverDescription]));
  const lines = labels
    .slice(0, MAX_LABELS)
    .flatMap((label) => (about.get(label) ? [`\n- ${label}: ${about.get(label)?.slice(0, MAX_ABOUT)}`] : []));
  return `Finds tools that are not listed here: ${tools.length} more, of ${shown}. Tools that it finds can be called in the next step. Search before you say that something cannot be done.${lines.join('')}`;
}

/** Without the tools that would make the result larger than that of any tool may be. */
function searchResult(matches: readonly FoundTool[], maxBytes: number): ToolCallResult {
  let byteBudget = maxBytes;
  const found = matches.filter(({ tool }) => {
    const bytes = Buffer.byteLength(JSON.stringify(tool));
    if (bytes > byteBudget) return false;
    byteBudget -= bytes;
    return true;
  });
  const names = new Map(found.map(({ server, tool, modelName }) => [qualifiedName(server, tool.name), modelName]));
  const nameFor = ({ server = '', name }: ReturnType<typeof toolsFound>[number]) =>
    names.get(qualifiedName(server, name)) ?? name;
  return { output: foundText(foundNamespaces(found), nameFor), failed: false, found };
}

function qualifiedName(server: string, name: string): string {
  return `${server}\0${name}`;
}

const NONE: ReadonlySet<string> = new Set<string>();

/**
 * The deferred tools that the conversation knows: found by a search, or called before; the newest, up to a limit.
 */
export function knownTools(conversation: readonly Item[], toolset: Toolset): ReadonlySet<string> {
  if (!toolset.get(TOOL_SEARCH)?.search && !hasDeferred([...toolset.values()])) return NONE;
  const known = new Set<string>();
  let names: ReadonlyMap<string, string> | undefined;
  for (let index = conversation.length - 1; index >= 0; index -= 1) {
    for (const { server, name } of toolsNamedIn(conversation[index])) {
      // Most conversations name none of thousands.
      names ??= deferredNames(toolset);
      const isAlone = server === undefined || (server === name && !names.has(qualifiedName(server, name)));
      const modelName = names.get(isAlone ? name : qualifiedName(server, name));
      if (modelName !== undefined) known.add(modelName);
      if (known.size === MAX_OFFERED) return known;
    }
  }
  return known;
}

/** The model's names for the deferred tools, by themselves and by their servers' names for them. */
function deferredNames(toolset: Toolset): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [modelName, { tool }] of toolset) {
    if (tool.deferred !== true) continue;
    names.set(modelName, modelName).set(qualifiedName(tool.server, tool.name), modelName);
  }
  return names;
}

/** The tools in an item: with a server under their own names, else under those that the model has for them. */
function toolsNamedIn(item: Item | undefined): ReturnType<typeof toolsFound> {
  if (!item) return [];
  if (item.type === 'tool_search_output') return toolsFound(item.tools);
  if (item.type === 'function_call_output')
    return namesInText(item.output).map((found) => ({ server: undefined, name: found }));
  // A request for approval names its tool as the call does.
  const kind = item.type === 'mcp_approval_request' ? mcpCall : writtenKind(item);
  return kind?.calledTool ? [kind.calledTool(item)] : [];
}
