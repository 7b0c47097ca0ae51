/** Adds the server-run tools to a Chat Completions body. */

import { collectGuards } from '../../../engine/guarding/request/guards-of.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { readApprovalRules } from '../../../engine/tools/approval-rules.ts';
import { checkRequested } from '../../../engine/tools/check-requested.ts';
import { modelToolset } from '../../../engine/tools/deferred-tools.ts';
import {
  buildToolset,
  clientToolsOnly,
  deniedNames,
  namesServing,
  requestedTypes,
  toolDefinitions,
  toolList,
} from '../../../engine/tools/toolset.ts';
import { type CallRules, unknownNameTest } from '../../../engine/turn/machine/call-permission.ts';
import { NO_TOOLS, type Toolset } from '../../../ports/toolset.ts';
import type { ToolChoice, ToolDefinition } from '../../../protocol/model-request.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../../protocol/record.ts';
import { PROGRAMS } from '../../../protocol/tool-calls/program-call.ts';
import { TOOL_SEARCH } from '../../../protocol/tool-calls/tool-search-call.ts';
import { noteReporter, type PrepareSettings } from '../../endpoint/prepare.ts';
import type { ChatBody } from './schema.ts';

/**
 * Adds the tools after the client's own; a client's tool of the same name wins. Those that need approval are left out,
 * since this API has no way to request it.
 */
export async function prepareChatTools(request: EndpointRequest, settings: PrepareSettings): Promise<EndpointRequest> {
  const { body, context = {}, signal } = request;
  if (context.tools || !isRecord(body)) return request;
  // Server-run tools cannot work with several choices in one answer.
  const providers = Number(body.n ?? 1) > 1 ? [] : settings.toolsOf(request.request);
  const client = toolList(body.tools);
  if (providers.length === 0 && !client?.length) {
    const tools = { toolset: NO_TOOLS, client, denied: undefined };
    return { ...request, body, context: Object.assign({}, context, { tools }) };
  }
  // Programs have items of their own, which this API lacks.
  const requested = new Set([...requestedTypes(client ?? [])].filter((type) => type !== PROGRAMS));
  const note = noteReporter(request, settings);
  const whole = await buildToolset(providers, toolNames(body), signal, note, requested, request);
  const entries = [...whole].map(([modelName, entry]) => ({ ...entry, modelName }));
  const allowed = await checkRequested(entries, client ?? [], request, note, () => collectGuards(request, settings));
  const obeying = new Map(allowed.map((entry) => [entry.modelName, entry]));
  const denied = deniedNames([...whole.values()], [...obeying.values()], toolNames(body));
  const approvalRules = readApprovalRules(obeying, request, settings.approval);
  for (const name of approvalRules.keys()) {
    const message = `The tool '${name}' needs approval, which cannot be requested in Chat Completions; the model is not offered it.`;
    note({ code: 'tool_dropped', message });
  }
  const runnable = new Map([...obeying].filter(([name]) => !approvalRules.has(name)));
  const { allowedTools } = chatCallRules(body, runnable);
  const allows = (name: string) => allowedTools?.has(name) ?? true;
  const { toolset, known } = modelToolset(runnable, { allows, known: new Set(chosenNames(body)) }, note);
  const tools = { toolset, client, denied };
  const named = withNamedChoice(body, toolset);
  return { ...request, body: withTools(named, toolset, known), context: Object.assign({}, context, { tools }) };
}

/** The names of the client's own tools, including custom ones and legacy functions. */
export function toolNames({ tools, functions }: JsonObject): ReadonlySet<string> {
  const named = [...recordsIn(tools).map(({ function: called, custom }) => called ?? custom), ...recordsIn(functions)];
  return new Set(named.filter(isRecord).map(({ name }) => plainText(name)));
}

/** The body with the tools after the client's own, or replacing them, in the legacy field if the client uses that. */
export function withTools(body: JsonObject, toolset: Toolset, known?: ReadonlySet<string>): JsonObject {
  if (toolset.size === 0) return body;
  const own = isLegacy(body) ? {} : { tools: clientToolsOnly(recordsIn(body.tools), toolset) };
  return withDefinitions({ ...body, ...own }, toolDefinitions(toolset, known));
}

/** The body with these tools too, except those that it has. */
export function bodyWithDefinitions<Body extends JsonObject>(body: Body, found: readonly ToolDefinition[]): Body {
  const names = toolNames(body);
  const added = found.filter(({ name }) => !names.has(name));
  return added.length === 0 ? body : withDefinitions(body, added);
}

function withDefinitions<Body extends JsonObject>(body: Body, tools: readonly ToolDefinition[]): Body {
  const functions = tools.map((tool) => ({ parameters: { type: 'object', properties: {} }, ...tool }));
  if (isLegacy(body)) return { ...body, functions: [...recordsIn(body.functions), ...functions] };
  return {
    ...body,
    tools: [...recordsIn(body.tools), ...functions.map((each) => ({ type: 'function', function: each }))],
  };
}

/** What the body says of the calls that the model may make. `toolset` holds the server-run tools. */
export function chatCallRules(body: JsonObject, toolset: Toolset): CallRules {
  const { tool_choice: choice, function_call: legacy, parallel_tool_calls: parallel, n } = body;
  // Several answers cannot be asked again: the client receives them as they are, and nothing runs here.
  if (Number(n ?? 1) > 1) return {};
  const wanted = choice ?? legacy;
  const singleCall = parallel === false;
  if (wanted === 'none') return { allowedTools: new Set() };
  if (!isRecord(wanted)) return { singleCall };
  const allowed = allowedEntries(wanted) ?? (serverNames(wanted, toolset).length > 0 ? [wanted] : undefined);
  if (!allowed) return { singleCall, forcedTool: toolName(wanted) || undefined };
  const search = toolset.get(TOOL_SEARCH)?.search ? [TOOL_SEARCH] : [];
  return { singleCall, allowedTools: new Set([...allowed.flatMap((tool) => modelNames(tool, toolset)), ...search]) };
}

/** Whether a name is none of a tool; undefined where the server runs none, or where one without a name may be any of the model server's own. */
export function unknownNames({ tools, functions }: JsonObject, toolset: Toolset): CallRules['isUnknownName'] {
  if (toolset.size === 0) return undefined;
  const names = [...recordsIn(tools), ...recordsIn(functions)].map(toolName);
  return names.includes('') ? undefined : unknownNameTest([...toolset.keys(), ...names]);
}

/** The entries of `allowed_tools`, also where a client writes them as the Responses API does. */
function allowedEntries({ type, allowed_tools: allowed, tools }: JsonObject): readonly JsonObject[] | undefined {
  if (isRecord(allowed)) return recordsIn(allowed.tools);
  return type === 'allowed_tools' ? recordsIn(tools) : undefined;
}

/** The model's names for what an entry means: a tool by its name, those of a server by its label, or a hosted one by its type. */
function modelNames(tool: JsonObject, toolset: Toolset): readonly string[] {
  const name = toolName(tool);
  if (tool.type !== 'mcp') return [name, ...namesServing(toolset, tool.type)];
  const { server_label: label } = tool;
  const ofServer = [...toolset].filter(([, entry]) => entry.tool.server === label);
  return ofServer.filter(([, entry]) => name === '' || entry.tool.name === name).map(([modelName]) => modelName);
}

/** The same for what this server runs and the choice does not name as a function. */
function serverNames(tool: JsonObject, toolset: Toolset): readonly string[] {
  return tool.type === 'mcp' || toolName(tool) === ''
    ? modelNames(tool, toolset).filter((name) => toolset.has(name))
    : [];
}

/** The body whose choice names servers and hosted tools by their functions: no model server knows the others. */
function withNamedChoice(body: JsonObject, toolset: Toolset): JsonObject {
  const { tool_choice: choice } = body;
  if (!isRecord(choice)) return body;
  const listed = allowedEntries(choice);
  const entries = listed ?? [choice];
  if (!entries.some((entry) => serverNames(entry, toolset).length > 0)) return body;
  const tools = entries.flatMap((entry) => {
    const names = serverNames(entry, toolset);
    return names.length > 0 ? names.map((name) => ({ type: 'function', function: { name } })) : [entry];
  });
  // Not every server knows `allowed_tools`.
  if (!listed && tools.length === 1) return { ...body, tool_choice: tools[0] };
  const { mode = 'auto' } = isRecord(choice.allowed_tools) ? choice.allowed_tools : choice;
  const allowed = { mode: listed ? mode : 'required', tools };
  return { ...body, tool_choice: { type: 'allowed_tools', allowed_tools: allowed } };
}

/** The tools that the body's choice names: the model must be offered those. */
function chosenNames({ tool_choice: choice, function_call: legacy }: JsonObject): readonly string[] {
  const wanted = choice ?? legacy;
  return isRecord(wanted) ? (allowedEntries(wanted) ?? [wanted]).map(toolName) : [];
}

/** The name in a tool, or in a choice of one; empty for none. */
export function toolName({ function: called, custom, name }: JsonObject): string {
  const named = called ?? custom;
  return plainText(isRecord(named) ? named.name : name);
}

/** The body's choice in the engine's words, in either API's spelling of it; undefined if it makes none. */
export function bodyChoice({ tool_choice: choice, function_call: legacy }: JsonObject): ToolChoice | undefined {
  const wanted = choice ?? legacy ?? undefined;
  if (wanted === undefined || wanted === 'none' || wanted === 'auto') return wanted;
  // Some model servers have words of their own for `required`, such as `any`.
  if (!isRecord(wanted)) return 'required';
  if (wanted.type !== 'allowed_tools') return { name: toolName(wanted) };
  const { mode } = isRecord(wanted.allowed_tools) ? wanted.allowed_tools : wanted;
  return mode === 'required' ? 'required' : 'auto';
}

/** The body with a request for the usage, which has to be summed over the rounds. */
export function countingUsage(body: ChatBody): ChatBody {
  return body.stream ? { ...body, stream_options: { ...Object(body.stream_options), include_usage: true } } : body;
}

/** Whether the client uses the legacy fields that `tools` replaced. */
export function isLegacy({ functions }: JsonObject): boolean {
  return Array.isArray(functions);
}

/** Whether the client requested a usage chunk. */
export function wantsUsage({ stream_options: options }: JsonObject): boolean {
  return isRecord(options) && options.include_usage === true;
}
