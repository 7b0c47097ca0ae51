/** Determines which tools the model is offered, and how it may use them. */

import {
  deferredOfClient,
  knownTools,
  type ModelToolset,
  modelToolset,
} from '../../../../engine/tools/deferred-tools.ts';
import { clientToolsOnly, toolDefinitions } from '../../../../engine/tools/toolset.ts';
import { NO_TOOLS, type Toolset } from '../../../../ports/toolset.ts';
import type { Item } from '../../../../protocol/items.ts';
import type { ToolDefinition } from '../../../../protocol/model-request.ts';
import type { Note } from '../../../../protocol/note.ts';
import type { JsonObject } from '../../../../protocol/record.ts';
import type { ToolForm } from '../../../../protocol/tool-calls/kind.ts';
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
export function buildToolPlan(input: ToolPlanInput, toolset: Toolset, note: (note: Note) => void): ToolPlan {
  const { tools, additional = [], choice, conversation = [], denied } = input;
  const clientTools = clientToolsOnly([...tools, ...additional], toolset);
  const { known: own, unknown, repeated, indirect } = readClientTools(clientTools);
  const native = input.native && nativeTools(clientTools, unknown, choice, input.native);
  const noteDropped = (message: string) => note({ code: 'tool_dropped', message });
  for (const tool of unknown) {
    if (!native?.hosted.includes(tool))
      noteDropped(`Tools of type '${printedType(tool.type)}' cannot be run here; the model is not offered it.`);
  }
  for (const name of repeated) noteDropped(`Two tools are called '${name}'; the model is offered the first.`);
  if (!native?.runsPrograms) {
    for (const name of indirect)
      noteDropped(`'allowed_callers' does not let the model itself call '${name}'; it is not offered.`);
  }

  // The search for tools: this server's, or one that the client runs.
  const hasServerSearch = Boolean(toolset.get(TOOL_SEARCH)?.search);
  const hasSearch = hasServerSearch || own.get(TOOL_SEARCH)?.form.kind === 'tool_search';
  const deferred = hasSearch && !native?.searches ? deferredClientTools(own) : NO_TOOLS;
  const findable = deferred.size === 0 ? toolset : new Map([...toolset, ...deferred]);
  const callable = new Set([...own.keys(), ...toolset.keys()]);
  const resolved = resolveToolChoice(choice, { callable, toolset, hosted: native?.hosted ?? [] });
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
  const forms = own.size === 0 ? NO_FORMS : new Map<string, ToolForm>();
  for (const [name, { definition, form }] of own) {
    const isDeferred = deferred.has(name);
    if (!isDeferred || found.has(name)) modelTools.push(definition);
    forms.set(name, isDeferred && form.namespace === undefined ? { ...form, isFound: true } : form);
  }
  modelTools.push(...toolDefinitions(offer.toolset, offer.known));

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
    denied,
    native,
  };
}

/** The client's tools that the model must find first. */
function deferredClientTools(own: ReadonlyMap<string, ClientTool>): Toolset {
  return new Map(
    [...own].flatMap(([name, { definition, form, deferred, namespaceDescription }]) =>
      deferred ? [[name, deferredOfClient(definition, deferred, form.namespace, namespaceDescription)]] : [],
    ),
  );
}
