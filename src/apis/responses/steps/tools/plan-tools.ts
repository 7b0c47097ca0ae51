/** Determines which tools the model is offered, and how it may use them. */

import { type ProgramTool, withProgramTools } from '../../../../engine/programs/program-tools.ts';
import {
  deferredOfClient,
  knownTools,
  type ModelToolset,
  modelToolset,
} from '../../../../engine/tools/deferred-tools.ts';
import {
  clientToolsOnly,
  definition,
  hiddenTools,
  namesServing,
  toolDefinitions,
} from '../../../../engine/tools/toolset.ts';
import { NO_TOOLS, type Toolset } from '../../../../ports/toolset.ts';
import type { Item } from '../../../../protocol/items.ts';
import type { ToolDefinition } from '../../../../protocol/model-request.ts';
import type { Note } from '../../../../protocol/note.ts';
import type { JsonObject } from '../../../../protocol/record.ts';
import type { ToolForm } from '../../../../protocol/tool-calls/kind.ts';
import { PROGRAMS } from '../../../../protocol/tool-calls/program-call.ts';
import { TOOL_SEARCH } from '../../../../protocol/tool-calls/tool-search-call.ts';
import { type ClientTool, readClientTools } from './client-tools.ts';
import { type NativeTools, type NativeTypes, nativeTools } from './native-tools.ts';
import { printedType, type ResolvedChoice, resolveToolChoice } from './tool-choice.ts';

/** The tools that the model is offered, and how it may use them. */
export interface ToolPlan extends Pick<ResolvedChoice, 'toolChoice' | 'allowed'> {
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
  /** The tools that it may not call, whatever the choice says; undefined for none. */
  readonly denied: ReadonlySet<string> | undefined;
  /** What the model's programs may call, by the model's names; undefined if it may write none. */
  readonly programs: ReadonlyMap<string, ProgramTool> | undefined;
  /** What a server that takes tools as they are receives of them; undefined if the model's server does not. */
  readonly native: NativeTools | undefined;
}

/** The client's tools, those in its input, and its choice. */
interface ToolPlanInput {
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

const NO_FORMS: Map<string, ToolForm> = new Map();

/** Of most requests: it is made once. */
let planWithoutTools: ToolPlan | undefined;

/** Determines the offered tools: the client's and the server-run ones. Tools that this server cannot run are noted. */
export function planTools(input: ToolPlanInput, toolset: Toolset, note: (note: Note) => void): ToolPlan {
  const { tools, additional = [], choice, denied } = input;
  const hasChoice = choice !== undefined && choice !== null;
  if (hasChoice || tools.length > 0 || additional.length > 0 || toolset.size > 0 || denied || input.native)
    return buildToolPlan(input, toolset, note);
  planWithoutTools ??= buildToolPlan({ tools: [], choice: undefined }, NO_TOOLS, note);
  return planWithoutTools;
}

/** The plan of any request, with tools or without. */
export function buildToolPlan(input: ToolPlanInput, listed: Toolset, note: (note: Note) => void): ToolPlan {
  const { tools, additional = [], choice, conversation = [], denied } = input;
  const clientTools = clientToolsOnly([...tools, ...additional], listed);
  const { known: own, unknown, repeated, indirect, programs: ofPrograms } = readClientTools(clientTools);
  const toolset = withoutIdlePrograms(listed, ofPrograms, note);
  const runsPrograms = toolset.size > 0 && namesServing(toolset, PROGRAMS).length > 0;
  const native = input.native && nativeTools(clientTools, unknown, choice, input.native);
  const noteDropped = (message: string) => note({ code: 'tool_dropped', message });
  for (const tool of unknown) {
    if (!native?.hosted.includes(tool))
      noteDropped(`Tools of type '${printedType(tool.type)}' cannot be run here; the model is not offered it.`);
  }
  for (const name of repeated) noteDropped(`Two tools are called '${name}'; the model is offered the first.`);
  if (!native?.runsPrograms) {
    for (const name of runsPrograms ? [] : indirect.filter((each) => !own.has(each)))
      noteDropped(`'allowed_callers' does not let the model itself call '${name}'; it is not offered.`);
  }

  // The search for tools: this server's, or one that the client runs.
  const hasServerSearch = Boolean(toolset.get(TOOL_SEARCH)?.search);
  const hasSearch = hasServerSearch || own.get(TOOL_SEARCH)?.form.kind === 'tool_search';
  const deferred = hasSearch && !native?.searches ? deferredClientTools(own) : NO_TOOLS;
  const findable = deferred.size === 0 ? toolset : new Map([...toolset, ...deferred]);
  const ofModel = [...toolset].flatMap(([name, { programs }]) => (programs === 'only' ? [] : [name]));
  const callable = new Set([...own.keys(), ...ofModel]);
  const resolved = resolveToolChoice(choice, { callable, toolset, hosted: native?.hosted ?? [], unknown });
  const found = new Set([...knownTools(conversation, findable), ...resolved.named]);
  const offer: ModelToolset = modelToolset(
    toolset,
    {
      // Whether the model may call a tool that it has found.
      allows: (name) => resolved.allowed?.has(name) ?? true,
      known: found,
      // A search of the client's own needs no help.
      ofClient: hasServerSearch ? deferred : NO_TOOLS,
    },
    note,
  );

  const modelTools: ToolDefinition[] = [];
  const forms = own.size === 0 && !runsPrograms ? NO_FORMS : new Map<string, ToolForm>();
  for (const [name, { definition: tool, form }] of own) {
    const isDeferred = deferred.has(name);
    if (!isDeferred || found.has(name)) modelTools.push(tool);
    forms.set(name, isDeferred && form.namespace === undefined ? { ...form, isFound: true } : form);
  }
  const programs = runsPrograms
    ? programTools({ own, ofPrograms, toolset: offer.toolset, allowed: resolved.allowed })
    : undefined;
  for (const [name, { form }] of programs ? ofPrograms : []) if (!own.has(name)) forms.set(name, form);
  const hidden = hiddenTools(findable, offer.known);
  const isHidden = (name: string) => hidden(name) !== undefined;
  const [programName] = programs ? namesServing(toolset, PROGRAMS) : [];
  for (const tool of toolDefinitions(offer.toolset, offer.known))
    modelTools.push(programs && tool.name === programName ? withProgramTools(tool, programs, isHidden) : tool);

  // A search that has nothing to find cannot be forced.
  const { toolChoice, allowed } = resolved;
  const isSearchForced = typeof toolChoice === 'object' && toolChoice.name === TOOL_SEARCH;
  const isForceable = !isSearchForced || modelTools.some(({ name }) => name === TOOL_SEARCH);
  // The search for allowed tools is allowed as well.
  const searchesAllowed = allowed && offer.toolset.get(TOOL_SEARCH)?.search;
  return {
    tools,
    forms,
    choice: choice ?? 'auto',
    modelTools,
    findable,
    ...offer,
    toolChoice: isForceable ? toolChoice : undefined,
    allowed: searchesAllowed ? new Set([...allowed, TOOL_SEARCH]) : allowed,
    denied: programs ? withoutDirectCalls(denied, indirect, own, offer.toolset) : denied,
    programs,
    native,
  };
}

/** Without the tool that runs programs, if these could call nothing. */
function withoutIdlePrograms(toolset: Toolset, ofPrograms: { size: number }, note: (note: Note) => void): Toolset {
  const names = toolset.size === 0 ? [] : namesServing(toolset, PROGRAMS);
  if (names.length === 0 || ofPrograms.size > 0 || [...toolset.values()].some(({ programs }) => programs))
    return toolset;
  const message = "No tool has 'programmatic' among its 'allowed_callers', so the model is offered no programs.";
  note({ code: 'tool_dropped', message });
  return new Map([...toolset].filter(([name]) => !names.includes(name)));
}

/** What decides which tools programs may call. */
interface ProgramToolSources {
  readonly own: ReadonlyMap<string, ClientTool>;
  readonly ofPrograms: ReadonlyMap<string, ClientTool>;
  readonly toolset: Toolset;
  readonly allowed: ReadonlySet<string> | undefined;
}

/** The tools that programs may call: a search and a program are not among them, whatever the request says. */
function programTools({ own, ofPrograms, toolset, allowed }: ProgramToolSources) {
  const programs = new Map<string, ProgramTool>();
  const isAllowed = (name: string) => allowed?.has(name) ?? true;
  for (const [name, { definition: tool, form }] of ofPrograms) {
    if (isAllowed(name) && form.kind !== 'tool_search')
      programs.set(name, { definition: tool, isListed: own.has(name) });
  }
  for (const [name, entry] of toolset) {
    const isInner = entry.search === undefined && entry.tool.requestedBy !== PROGRAMS;
    if (entry.programs && isInner && isAllowed(name))
      programs.set(name, {
        definition: definition(name, entry),
        isListed: entry.programs === 'also',
      });
  }
  return programs;
}

/** The tools that the model may not call, with those that are for its programs alone. */
function withoutDirectCalls(
  denied: ReadonlySet<string> | undefined,
  indirect: readonly string[],
  own: { has(name: string): boolean },
  toolset: Toolset,
): ReadonlySet<string> {
  const ofServer = [...toolset].flatMap(([name, { programs }]) => (programs === 'only' ? [name] : []));
  return new Set([...(denied ?? []), ...indirect.filter((name) => !own.has(name)), ...ofServer]);
}

/** The client's tools that the model must find first. */
function deferredClientTools(own: ReadonlyMap<string, ClientTool>): Toolset {
  return new Map(
    [...own].flatMap(([name, { definition: tool, form, deferred, namespaceDescription }]) =>
      deferred ? [[name, deferredOfClient(tool, deferred, form.namespace, namespaceDescription)]] : [],
    ),
  );
}
