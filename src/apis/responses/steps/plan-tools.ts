/** Determines which tools the model is offered, and how it may use them. */

import { deferredOfClient, knownTools, type ModelToolset, modelToolset } from '../../../engine/tools/deferred-tools.ts';
import { clientToolsOnly, definitions, namesServing } from '../../../engine/tools/toolset.ts';
import { NO_TOOLS, type Toolset } from '../../../ports/toolset.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { Item } from '../../../protocol/items.ts';
import type { ToolChoice, ToolDefinition } from '../../../protocol/model-request.ts';
import type { Note } from '../../../protocol/note.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { refuseLong } from '../../../protocol/responses/invalid.ts';
import type { ToolForm } from '../../../protocol/tool-calls/kind.ts';
import { isClientTool, kindOfClient } from '../../../protocol/tool-calls/kinds.ts';
import { TOOL_SEARCH } from '../../../protocol/tool-calls/tool-search-call.ts';
import { type ClientTool, modelNameOf, readClientTools } from './client-tools.ts';
import { isChosen, type NativeTools, type NativeTypes, nativeTools } from './native-tools.ts';

/** The tools that the model is offered, and how it may use them. */
export interface ToolPlan {
  /** The client's tools as they are echoed. */
  readonly tools: readonly JsonObject[];
  readonly choice: unknown;
  /** The client's definition of its tools, by the model's names for them. */
  readonly forms: ReadonlyMap<string, ToolForm>;
  readonly modelTools: readonly ToolDefinition[];
  /** The server-run tools that may be called, with a search for those that the model is not offered. */
  readonly toolset: Toolset;
  /** The server-run tools and the client's deferred ones. */
  readonly findable: Toolset;
  /** The deferred tools among them that are offered at once. */
  readonly known: ReadonlySet<string>;
  readonly toolChoice: ToolChoice | undefined;
  /** The only tools that the model may call, where the choice limits them; empty for none. */
  readonly allowed: ReadonlySet<string> | undefined;
  /** The tools that it may not call, whatever the choice says; undefined for none. */
  readonly denied: ReadonlySet<string> | undefined;
  /** What a server that takes tools as they are receives of them; undefined if the model's server does not. */
  readonly native: NativeTools | undefined;
}

/** The client's tools, those in its input, and its choice. */
interface GivenTools {
  readonly tools: readonly JsonObject[];
  readonly additional?: readonly JsonObject[];
  readonly choice: unknown;
  /** The host's tools that the request's terms leave out. Default: none. */
  readonly denied?: ReadonlySet<string> | undefined;
  /** The conversation, which may have found deferred tools. Default: none. */
  readonly conversation?: readonly Item[];
  /** Which types of tools the model's server takes as they are; undefined for functions only. */
  readonly native?: NativeTypes | undefined;
}

const NO_FORMS: ToolPlan['forms'] = new Map();

/** Of most requests: it is made once. */
let planWithoutTools: ToolPlan | undefined;

/** Determines the offered tools: the client's and the server-run ones. Tools that this server cannot run are noted. */
export function planTools(given: GivenTools, toolset: Toolset, note: (note: Note) => void): ToolPlan {
  const { tools, additional = [], choice, denied } = given;
  const hasChoice = choice !== undefined && choice !== null;
  if (hasChoice || tools.length > 0 || additional.length > 0 || toolset.size > 0 || denied || given.native)
    return planOf(given, toolset, note);
  planWithoutTools ??= planOf({ tools: [], choice: undefined }, NO_TOOLS, note);
  return planWithoutTools;
}

/** The plan of any request, with tools or without. */
export function planOf(given: GivenTools, toolset: Toolset, note: (note: Note) => void): ToolPlan {
  const { tools, additional = [], choice, conversation = [] } = given;
  const ofOthers = clientToolsOnly([...tools, ...additional], toolset);
  const { known, unknown, repeated, indirect } = readClientTools(ofOthers);
  const native = given.native && nativeTools(ofOthers, unknown, choice, given.native);
  for (const tool of unknown) if (!native?.hosted.includes(tool)) note(droppedTool(printed(tool.type)));
  for (const name of repeated) note(repeatedTool(name));
  if (!native?.runsPrograms) for (const name of indirect) note(indirectTool(name));
  const ofClient = native?.searches ? NO_TOOLS : deferredOf(known, toolset);
  const findable = ofClient.size === 0 ? toolset : new Map([...toolset, ...ofClient]);
  const callable = new Set([...known.keys(), ...toolset.keys()]);
  const settled = settleChoice(choice, callable, toolset, native?.hosted ?? []);
  const found = new Set([...knownTools(conversation, findable), ...settled.named]);
  const offer = modelToolset(
    toolset,
    { allows: allowing(settled), known: found, ofClient: searchedHere(ofClient, toolset) },
    note,
  );
  const own = [...known.values()].filter(({ definition: { name } }) => !ofClient.has(name) || found.has(name));
  const modelTools = [...own.map(({ definition }) => definition), ...definitions(offer.toolset, offer.known)];
  const formOf = (name: string, form: ToolForm) =>
    ofClient.has(name) && form.namespace === undefined ? { ...form, isFound: true } : form;
  const forms = known.size === 0 ? NO_FORMS : new Map([...known].map(([name, { form }]) => [name, formOf(name, form)]));
  return {
    tools,
    forms,
    choice: choice ?? 'auto',
    modelTools,
    findable,
    ...offer,
    toolChoice: possibleChoice(settled, modelTools),
    allowed: allowedWithSearch(settled, offer),
    denied: given.denied,
    native,
  };
}

/** The tools that this server's search finds; a search of the client's own needs no help. */
function searchedHere(ofClient: Toolset, toolset: Toolset): Toolset {
  return toolset.get(TOOL_SEARCH)?.search ? ofClient : NO_TOOLS;
}

/** The client's tools that the model must find first: deferred ones, if the client or this server has a search for them. */
function deferredOf(known: ReadonlyMap<string, ClientTool>, toolset: Toolset): Toolset {
  const search = known.get(TOOL_SEARCH)?.form.kind === 'tool_search' || toolset.get(TOOL_SEARCH)?.search;
  if (!search) return NO_TOOLS;
  return new Map(
    [...known].flatMap(([name, { definition, form, deferred, namespaceDescription }]) =>
      deferred ? [[name, deferredOfClient(definition, deferred, form.namespace, namespaceDescription)]] : [],
    ),
  );
}

/** Whether the model may call a tool that it has found. */
function allowing({ allowed }: Settled): (name: string) => boolean {
  return (name) => allowed?.has(name) ?? true;
}

/** A search that has nothing to find cannot be forced. */
function possibleChoice({ toolChoice }: Settled, offered: readonly ToolDefinition[]): ToolChoice | undefined {
  const isSearch = typeof toolChoice === 'object' && toolChoice.name === TOOL_SEARCH;
  return isSearch && !offered.some(({ name }) => name === TOOL_SEARCH) ? undefined : toolChoice;
}

/** The search for allowed tools is allowed as well. */
function allowedWithSearch({ allowed }: Settled, { toolset }: ModelToolset): ToolPlan['allowed'] {
  if (!allowed || !toolset.get(TOOL_SEARCH)?.search) return allowed;
  return new Set([...allowed, TOOL_SEARCH]);
}

function droppedTool(type: string): Note {
  return { code: 'tool_dropped', message: `Tools of type '${type}' cannot be run here; the model is not offered it.` };
}

function printed(type: unknown): string {
  return typeof type === 'string' ? type.slice(0, 100) : typeof type;
}

function repeatedTool(name: string): Note {
  return { code: 'tool_dropped', message: `Two tools are called '${name}'; the model is offered the first.` };
}

function indirectTool(name: string): Note {
  const message = `'allowed_callers' does not let the model itself call '${name}'; it is not offered.`;
  return { code: 'tool_dropped', message };
}

/** The choice, and the tools that it names one by one: the model must be offered those. */
interface Settled extends Pick<ToolPlan, 'toolChoice' | 'allowed'> {
  readonly named: readonly string[];
}

const ANY: Settled = { toolChoice: undefined, allowed: undefined, named: [] };
const NO_CALLS: ReadonlySet<string> = new Set<string>();

function settleChoice(
  choice: unknown,
  callable: ReadonlySet<string>,
  toolset: Toolset,
  hosted: readonly JsonObject[],
): Settled {
  const hasTools = callable.size > 0 || hosted.length > 0;
  if (choice === 'none') return { ...ANY, toolChoice: wordChoice(choice, hasTools), allowed: NO_CALLS };
  if (typeof choice === 'string') return { ...ANY, toolChoice: wordChoice(choice, hasTools) };
  if (!isRecord(choice)) return ANY;
  if (choice.type === 'allowed_tools') return allowedTools(choice, callable, toolset, hosted);
  // What it finds may be called, too.
  if (choice.type === TOOL_SEARCH && toolset.get(TOOL_SEARCH)?.search)
    return { ...ANY, toolChoice: { name: TOOL_SEARCH } };
  if (choice.type === 'mcp' || namesServing(toolset, choice.type).length > 0 || isChosen(choice, hosted))
    return allowedTools({ tools: [choice], mode: 'required' }, callable, toolset, hosted);
  if (isClientTool(choice.type)) return { ...ANY, ...namedChoice(choice, callable) };
  // An answer of the model's own would pass for one that rests on the tool.
  throw choiceError(`Tool choice '${printed(choice.type)}' cannot be met: no tool of this type is offered.`);
}

function wordChoice(choice: string, hasTools: boolean): ToolChoice | undefined {
  if (hasTools) return choice as ToolChoice;
  if (choice === 'required') throw choiceError("Tool choice 'required' must be specified with 'tools' parameter.");
  return undefined;
}

function namedChoice(choice: JsonObject, callable: ReadonlySet<string>): Pick<Settled, 'toolChoice' | 'named'> {
  const name = nameIn(choice);
  const whole = modelNameIn(choice);
  // A tool that a search found is named by its calls as its own namespace.
  const isFolded = choice.namespace === name && !(whole !== undefined && callable.has(whole));
  const known = isFolded ? modelNameIn({ ...choice, namespace: undefined }) : whole;
  if (known !== undefined && callable.has(known)) return { toolChoice: { name: known }, named: [known] };
  throw choiceError(`Tool choice '${typeof name === 'string' ? name : 'function'}' not found in 'tools' parameter.`);
}

/** Each may name all tools of a server. */
const MOST_ALLOWED = 4096;

/** All tools stay in the prompt; one required tool is the same as naming it, which every server supports. */
function allowedTools(
  { tools, mode }: JsonObject,
  known: ReadonlySet<string>,
  toolset: Toolset,
  hosted: readonly JsonObject[],
): Settled {
  if (!Array.isArray(tools)) throw choiceError("Missing required parameter: 'tool_choice.tools'.");
  refuseLong('tool_choice.tools', tools.length, MOST_ALLOWED);
  const namesOf = chooser(toolset);
  const chosen = tools.filter(isRecord).map((tool) => ({ isNamed: Boolean(nameIn(tool)), names: namesOf(tool) }));
  const names = chosen.flatMap((each) => each.names);
  const callable = names.filter((name) => known.has(name));
  const hasHosted = tools.filter(isRecord).some((tool) => isChosen(tool, hosted));
  if (mode === 'required' && callable.length === 0 && !hasHosted)
    throw choiceError("No tool of 'tool_choice.tools' is in 'tools'.");
  const isOnly = callable.length === 1 && mode === 'required' && !hasHosted;
  const only = isOnly ? { name: callable[0] as string } : undefined;
  const named = chosen.flatMap((each) => (each.isNamed ? each.names : []));
  return {
    toolChoice: only ?? (mode === 'required' ? 'required' : 'auto'),
    allowed: new Set(names),
    named: only ? [only.name] : named,
  };
}

/**
 * The model's names for what an entry of `allowed_tools` means: a server's label means all of its tools, or the named
 * one. Looked up, and each server's tools once: a request may have thousands of entries, and a server thousands of tools.
 */
function chooser(toolset: Toolset): (tool: JsonObject) => readonly string[] {
  const byServer = new Map<unknown, Map<unknown, string[]>>();
  for (const [modelName, { tool }] of toolset) {
    const names = byServer.get(tool.server) ?? new Map<unknown, string[]>();
    byServer.set(tool.server, names);
    names.set(tool.name, [...(names.get(tool.name) ?? []), modelName]);
  }
  const serving = new Map<unknown, readonly string[]>();
  return (tool) => {
    const { type, server_label: label } = tool;
    const served = serving.get(type) ?? namesServing(toolset, type);
    serving.set(type, served);
    if (served.length > 0) return served;
    const name = nameIn(tool) ?? undefined;
    if (type !== 'mcp') return [modelNameIn(tool)].filter((known) => known !== undefined);
    const names = byServer.get(label);
    if (name !== undefined) return names?.get(name) ?? [];
    byServer.delete(label);
    return [...(names?.values() ?? [])].flat();
  };
}

/** Some clients name a function as Chat Completions does; tools with a type of their own are named by it. */
function nameIn({ type, name, function: called }: JsonObject): unknown {
  if (isClientTool(type) && kindOfClient({ kind: type }).functionFor) return type;
  return name ?? (isRecord(called) ? called.name : undefined);
}

/** The model's name for the tool. */
function modelNameIn(tool: JsonObject): string | undefined {
  const name = nameIn(tool);
  if (typeof name !== 'string') return undefined;
  const { namespace } = tool;
  const kind = tool.type === 'custom' ? 'custom' : 'function';
  return modelNameOf({ kind, name, ...(typeof namespace === 'string' ? { namespace } : {}) });
}

function choiceError(message: string): ApiError {
  return new ApiError('invalid_value', message, { param: 'tool_choice' });
}
