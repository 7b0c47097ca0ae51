/** Determines which server-run tools the model is offered in one turn, and under which names. */

import type { ProvidedTool, ToolProvider, ToolsRequest } from '../../ports/tool-provider.ts';
import { listedTool, type ToolOwner, type Toolset, type ToolsetEntry } from '../../ports/toolset.ts';
import type { Item, ListedTool } from '../../protocol/items.ts';
import type { ToolDefinition } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, plainText, thrownText } from '../../protocol/record.ts';
import { itemsOfAgent } from '../../protocol/tool-calls/conversation/agent-items.ts';
import { joinedPrograms } from '../../protocol/tool-calls/conversation/joined-programs.ts';
import type { ModelNames, ToolForm, WrittenToolCallKind } from '../../protocol/tool-calls/kind.ts';
import {
  CONTAINER_KINDS,
  calledToolName,
  kindServing,
  requestedType,
  servedType,
  writtenKind,
} from '../../protocol/tool-calls/kinds.ts';
import { digestedName, namespacedName, toModelSafeName } from '../../protocol/tool-calls/names/tool-names.ts';
import { foundText, TOOL_SEARCH } from '../../protocol/tool-calls/tool-search-call.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { denialText } from '../programs/open-programs.ts';
import type { EndpointRequest } from '../request/endpoint-request.ts';
import { hasDeferred, knownTools, toolSearch } from './deferred-tools.ts';

/** No tools at all, as for most requests. */
const NOTHING: ReadonlyMap<string, never> = new Map<string, never>();
const NONE: ReadonlySet<never> = new Set<never>();

/**
 * Lists the tools of every provider; one that fails is noted and left out. A client's tool of the same name wins. Tools
 * that a request must enable are left out unless their type is among those `requested`.
 */
export async function buildToolset(
  providers: readonly ToolProvider[],
  clientNames: ReadonlySet<string>,
  signal: AbortSignal,
  note: (note: Note) => void,
  requested: ReadonlySet<unknown> = new Set(),
  request?: Pick<EndpointRequest, 'scope' | 'requestId' | 'request'>,
): Promise<Toolset> {
  return namedTools(await listTools(providers, signal, note, requested, request), clientNames, note);
}

/** The tools of every provider; one that fails is noted and left out. */
export async function listTools(
  providers: readonly ToolProvider[],
  signal: AbortSignal,
  note: (note: Note) => void,
  requested: ReadonlySet<unknown> = new Set(),
  request?: Pick<EndpointRequest, 'scope' | 'requestId' | 'request'>,
): Promise<readonly ToolsetEntry[]> {
  if (providers.length === 0) return [];
  const about = request && { scope: request.scope, requestId: request.requestId, request: request.request };
  const listed = await Promise.all(providers.map((provider) => listProvider(provider, signal, note, about)));
  return listed.flat().filter(({ tool: { requestedBy } }) => requestedBy === undefined || requested.has(requestedBy));
}

/**
 * The tools under the names that the model receives, with the search for deferred ones, which may be the client's. A
 * client's tool of the same name wins.
 */
export function namedTools(
  tools: readonly ToolsetEntry[],
  clientNames: ReadonlySet<string>,
  note: (note: Note) => void,
  searchesClients = false,
): Toolset {
  if (tools.length === 0 && !searchesClients) return NOTHING;
  const searches = searchesClients || hasDeferred(tools);
  const seen = new Set<string>();
  const names = [...tools.map(({ tool }) => tool.name), ...(searches ? [TOOL_SEARCH] : [])];
  const shared = new Set(names.filter((name) => seen.has(name) || !seen.add(name)));
  const toolset = new Map<string, ToolsetEntry>();
  if (searches && !clientNames.has(TOOL_SEARCH)) toolset.set(TOOL_SEARCH, toolSearch([]));
  for (const each of tools) {
    const name = modelName(each.tool, shared, toolset);
    const message = `The client brings its own tool '${name}', so the server's is not offered.`;
    if (clientNames.has(name)) note({ code: 'tool_dropped', message });
    else toolset.set(name, each);
  }
  return toolset;
}

async function listProvider(
  provider: ToolProvider,
  signal: AbortSignal,
  note: (note: Note) => void,
  request: ToolsRequest | undefined,
): Promise<ToolsetEntry[]> {
  try {
    const tools = await untilAborted(signal, () => provider.list(signal, request));
    return tools.map((tool) => ({ provider, tool }));
  } catch (error) {
    signal.throwIfAborted();
    const message = `The tools of '${provider.name}' could not be listed: ${thrownText(error)}`;
    note({ code: 'tool_dropped', message });
    return [];
  }
}

function modelName({ server, name }: ProvidedTool, shared: ReadonlySet<string>, taken: Toolset): string {
  const plain = toModelSafeName(shared.has(name) ? `mcp__${server}__${name}` : name);
  let distinct = plain;
  for (let copy = 0; taken.has(distinct); copy += 1)
    distinct = digestedName(plain, `${server}\0${name}${copy === 0 ? '' : `\0${copy}`}`);
  return distinct;
}

/** The tools' definitions for the model, without the deferred ones that it does not know. */
export function toolDefinitions(toolset: Toolset, known: ReadonlySet<string> = NONE): readonly ToolDefinition[] {
  return [...toolset].flatMap(([name, entry]) =>
    isHidden(name, entry, known) || entry.programs === 'only' ? [] : [definition(name, entry)],
  );
}

function isHidden(name: string, { tool }: ToolsetEntry, known: ReadonlySet<string>): boolean {
  return tool.deferred === true && !known.has(name);
}

/** One of them. */
export function definition(name: string, { tool }: ToolsetEntry): ToolDefinition {
  const { description, parameters: schema, strict } = tool;
  // MCP servers may leave out `properties`, without which OpenAI refuses the whole request (openai/openai-agents-python#449).
  const isIncomplete = schema?.type === 'object' && schema.properties === undefined;
  return {
    name,
    ...(description ? { description } : {}),
    ...(schema ? { parameters: isIncomplete ? { ...schema, properties: {} } : schema } : {}),
    ...(strict === undefined ? {} : { strict }),
    ...(tool.outputSchema ? { outputSchema: tool.outputSchema } : {}),
  };
}

/** A tool that the model must find first, for the model and for clients. */
interface HiddenTool {
  readonly server: string;
  readonly definition: ToolDefinition;
  readonly listed: ListedTool;
}

/** Finds a deferred tool that the model does not know by its name for it. Made when it is asked for: there may be thousands. */
export function hiddenTools(toolset: Toolset, known: ReadonlySet<string>): (name: string) => HiddenTool | undefined {
  return (name) => {
    const entry = toolset.get(name);
    if (!entry || !isHidden(name, entry, known)) return undefined;
    return { server: entry.tool.server, definition: definition(name, entry), listed: listedTool(entry.tool) };
  };
}

/** The deferred tools that these items have found beside the `known` ones: the definitions of those, and the names of all. */
export function foundTools(
  items: readonly Item[],
  { findable, known }: { readonly findable: Toolset; readonly known: ReadonlySet<string> },
): { readonly definitions: readonly ToolDefinition[]; readonly known: ReadonlySet<string> } {
  const found = [...knownTools(items, findable)];
  const hidden = hiddenTools(findable, known);
  const definitions = found.flatMap((name) => hidden(name)?.definition ?? []);
  return { definitions, known: new Set([...known, ...found]) };
}

/**
 * The names of the listed tools that the request's terms have left out, under which a model may call them all the same;
 * undefined for none. `taken` are the names that somebody else's tool has.
 */
export function deniedNames(
  listed: readonly ToolsetEntry[],
  left: readonly ToolsetEntry[],
  taken: { has(name: string): boolean },
): ReadonlySet<string> | undefined {
  const remaining = new Set(left.map(({ tool }) => `${tool.server}\0${tool.name}`));
  const gone = listed.filter(({ tool }) => !remaining.has(`${tool.server}\0${tool.name}`));
  const names = gone.flatMap(({ tool: { server, name } }) => [
    toModelSafeName(name),
    toModelSafeName(`mcp__${server}__${name}`),
  ]);
  const offered = new Set(left.map(({ tool }) => toModelSafeName(tool.name)));
  const denied = names.filter((name) => !taken.has(name) && !offered.has(name));
  return denied.length === 0 ? undefined : new Set(denied);
}

/** The types of the request's tools, each under one name. */
export function requestedTypes(tools: readonly JsonObject[]): ReadonlySet<unknown> {
  return new Set(tools.map(servedType));
}

/** The model's names for the tools that a request enables by this type. */
export function namesServing(toolset: Toolset, type: unknown): readonly string[] {
  if (type === undefined) return [];
  const requested = requestedType(type);
  return [...toolset].filter(([, { tool }]) => tool.requestedBy === requested).map(([name]) => name);
}

/** The types of server-run tools of the request that run in a container. */
export function kindsInContainers(toolset: Toolset): readonly WrittenToolCallKind[] {
  const served = new Set<unknown>();
  for (const { tool } of toolset.values()) if (tool.requestedBy !== undefined) served.add(tool.requestedBy);
  return served.size === 0 ? NO_KINDS : CONTAINER_KINDS.filter(({ tool }) => served.has(tool));
}

const NO_KINDS: readonly WrittenToolCallKind[] = [];

/** What the request's code or commands run in, for a model, such as `the code interpreter`; undefined if nothing runs in a container. */
export function containerPlace(toolset: Toolset): string | undefined {
  return kindsInContainers(toolset)[0]?.container?.place;
}

/** The tools of the request that no server-run tool replaces. */
export function clientToolsOnly(tools: readonly JsonObject[], toolset: Toolset): readonly JsonObject[] {
  if (toolset.size === 0 || tools.length === 0) return tools;
  const entries = [...toolset.values()];
  // A lookup, not a search: a request may bring a million tools.
  const types = new Set(entries.flatMap(({ tool }): unknown => tool.requestedBy ?? []));
  const servers = new Set(entries.map(({ tool, url }) => JSON.stringify([tool.server, url ?? null])));
  return tools.filter((tool) => {
    const { type, server_label: label, server_url: url, execution } = tool;
    if (type === 'mcp') return !servers.has(JSON.stringify([label, url ?? null]));
    return !types.has(servedType(tool)) || execution === 'client';
  });
}

/** The settings for the tools of one turn. */
interface Terms {
  /** The names of those whose calls need approval. */
  readonly approvalRules?: { has(name: string): boolean };
  /** The container of each type of tool that runs in one. */
  readonly containers?: ReadonlyMap<unknown, string> | undefined;
}

/** The owner of each tool. */
export function toolOwners(
  toolset: Toolset,
  { approvalRules, containers }: Terms = {},
): ReadonlyMap<string, ToolOwner> {
  if (toolset.size === 0) return NOTHING;
  const toOwner = (modelName: string, { server, name, requestedBy }: ProvidedTool): ToolOwner => {
    // A tool with its own type has its own call type.
    const kind = kindServing(requestedBy);
    const container = containers?.get(requestedBy);
    return {
      server,
      name,
      ...(kind ? { shownAs: kind.type, ...(container === undefined ? {} : { container }) } : {}),
      ...(approvalRules?.has(modelName) ? { needsApproval: true } : {}),
    };
  };
  return new Map([...toolset].map(([name, { tool }]) => [name, toOwner(name, tool)]));
}

/** What a client has been shown: the conversation, what the turn has written so far, and the deferred tools it knows. */
interface ListsShown {
  readonly conversation: readonly Item[];
  readonly output?: readonly Item[];
  readonly known?: ReadonlySet<string>;
}

/**
 * The tools that clients are shown, by server, without the servers that the conversation already lists, and without
 * tools that the client has requested itself, or that the model has not found.
 */
export function unlistedTools(
  toolset: Toolset,
  { conversation, output = [], known: found = NONE }: ListsShown,
): ReadonlyMap<string, readonly ListedTool[]> {
  if (toolset.size === 0) return NOTHING;
  const listed = (items: readonly Item[]) => items.filter(({ type }) => type === 'mcp_list_tools');
  const known = new Set([...listed(conversation), ...listed(output)].map((item) => item.server_label));
  const lists = new Map<string, ListedTool[]>();
  for (const [name, entry] of toolset) {
    const { tool } = entry;
    if (known.has(tool.server) || tool.requestedBy !== undefined) continue;
    const list = lists.get(tool.server) ?? [];
    lists.set(tool.server, list);
    if (!isHidden(name, entry, found)) list.push(listedTool(tool));
  }
  return lists;
}

/** The servers that the request itself names. */
export function requestedServers(toolset: Toolset): ReadonlySet<string> {
  if (toolset.size === 0) return NONE;
  return new Set([...toolset.values()].flatMap(({ tool, url }) => (url === undefined ? [] : [tool.server])));
}

const NO_FORMS: ReadonlyMap<string, ToolForm> = new Map();
const NEVER = () => false;

/**
 * The conversation as the model receives it: the calls of server-run tools under their current names, those of the client
 * with the namespaces that `forms` has, without those of other agents, and without unanswered ones, since the client cannot answer them. Items that the
 * model's server receives as they are stay so. `resumed` are the programs that go on in this turn.
 */
export function conversationForModel(
  items: readonly Item[],
  toolset: Toolset,
  forms: ReadonlyMap<string, ToolForm> = NO_FORMS,
  isNative: (item: Item) => boolean = NEVER,
  resumed?: ReadonlySet<unknown>,
): readonly Item[] {
  const answered = withoutUnanswered(items, toolset);
  // One check per item if there is nothing to change, as usual: thousands of them are in no cache.
  return answered.some(needsModelForm)
    ? readableItems(answered, isNative, resumed).map(modelForm(toolset, forms, isNative))
    : answered;
}

/** The conversation of the first agent, with programs and calls that were denied in the forms that a model reads. */
export function readableItems(
  items: readonly Item[],
  isNative: (item: Item) => boolean,
  resumed?: ReadonlySet<unknown>,
): readonly Item[] {
  return withDenials(joinedPrograms(itemsOfAgent(items), isNative, resumed), isNative);
}

/** A call that the user denied counts as failed; other approval items are kept, or carry no content. */
function withDenials(items: readonly Item[], isNative: (item: Item) => boolean): readonly Item[] {
  const denials = items.filter(({ type, approve }) => type === 'mcp_approval_response' && approve === false);
  const open = new Map(denials.map((denial) => [denial.approval_request_id, denial]));
  if (open.size === 0) return items;
  return items.map((item) => {
    const denial = item.type === 'mcp_approval_request' && !isNative(item) ? open.get(item.id) : undefined;
    // Clients may send the request again that is in the history.
    open.delete(item.id);
    if (!denial) return item;
    return { ...item, type: 'mcp_call', output: null, error: denialText(denial) };
  });
}

function withoutUnanswered(items: readonly Item[], toolset: Toolset): readonly Item[] {
  if (toolset.size === 0) return items;
  const answered = new Set(items.filter(({ type }) => type === 'function_call_output').map((item) => item.call_id));
  return items.filter(
    ({ type, name, namespace, call_id: id }) =>
      type !== 'function_call' || namespace !== undefined || !toolset.has(plainText(name)) || answered.has(id),
  );
}

/** Gives an item the name that the model has for its tool, and what else it reads differently. */
function modelForm(
  toolset: Toolset,
  forms: ReadonlyMap<string, ToolForm>,
  isNative: (item: Item) => boolean = NEVER,
): (item: Item) => Item {
  const namespaces = new Set([...forms.values()].map(({ namespace }) => namespace));
  const names = new Map([...toolset].map(([name, { tool }]) => [`${tool.server}\0${tool.name}`, name]));
  // Reversed, so that the first of a type wins. A lookup, not a search: a history may have any number of such calls.
  const serving = new Map([...toolset].toReversed().map(([name, { tool }]) => [tool.requestedBy, name]));
  const known: ModelNames = {
    of: (server, name) => names.get(`${server}\0${name}`),
    serving: (type) => serving.get(type),
  };
  // The namespace of a client's tool is part of the name that the model is offered.
  const foundToolName = ({ server, name }: { readonly server: string | undefined; readonly name: string }) =>
    server === undefined ? name : (known.of(server, name) ?? namespacedName(server, name));
  return (item) => {
    if (isNative(item)) return item;
    const { namespace, name } = item;
    if (item.type === 'tool_search_output') return { ...item, output: foundText(item.tools, foundToolName) };
    if (typeof namespace === 'string') {
      // Of another namespace the model knows nothing: a tool that a search found names itself as its namespace.
      const own = plainText(name);
      const alone = item.type === 'custom_tool_call' ? toModelSafeName(own) : own;
      return { ...item, name: namespaces.has(namespace) ? namespacedName(namespace, own) : alone };
    }
    const kind = writtenKind(item);
    const modelName = kind?.modelName?.(item, known);
    if (modelName === undefined) return item;
    const seesImages = toolset.get(modelName)?.tool.modelSeesImages !== false;
    const output = seesImages ? undefined : kind?.outputWithoutImages?.(item);
    return { ...item, name: modelName, ...(output === undefined ? {} : { output }) };
  };
}

/** Reads the model's name for the tool of a call. */
export function toolNameReader(toolset: Toolset, forms: ReadonlyMap<string, ToolForm>): (item: Item) => string {
  const form = modelForm(toolset, forms);
  return (item) => {
    const named = form(item);
    return writtenKind(named)?.modelName ? plainText(named.name) : calledToolName(named);
  };
}

/** Whether the item has names that differ from the model's, or is an answer that may be a denial. */
function needsModelForm(item: Item): boolean {
  return (
    item.namespace !== undefined ||
    item.type === 'mcp_approval_response' ||
    item.type === 'tool_search_output' ||
    item.agent !== undefined ||
    item.type === 'agent_message' ||
    writtenKind(item)?.modelName !== undefined
  );
}

/** The list, or undefined if it is empty. */
export function toolList(tools: unknown): readonly JsonObject[] | undefined {
  return Array.isArray(tools) ? tools.filter(isRecord) : undefined;
}
