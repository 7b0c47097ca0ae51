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
import { type ClientTool, type ClientTools, readClientTools } from './client-tools.ts';
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
  return new ToolPlanner(input, listed, note).plan();
}

/** Makes the plan of one request. */
class ToolPlanner {
  private readonly input: ToolPlanInput;
  private readonly note: (note: Note) => void;
  /** The client's tools. */
  private readonly client: ClientTools;
  /** The server-run tools. */
  private readonly toolset: Toolset;
  /** The tool among them that runs the model's programs. */
  private readonly programName: string | undefined;
  private readonly native: NativeTools | undefined;
  private readonly hasServerSearch: boolean;
  /** The client's tools that the model must find first. */
  private readonly deferred: Toolset;
  private readonly findable: Toolset;

  constructor(input: ToolPlanInput, listed: Toolset, note: (note: Note) => void) {
    const { tools, additional = [], choice } = input;
    this.input = input;
    this.note = note;
    const clientTools = clientToolsOnly([...tools, ...additional], listed);
    this.client = readClientTools(clientTools);
    const { known, unknown } = this.client;
    this.native = input.native && nativeTools(clientTools, unknown, choice, input.native);
    const programNames = listed.size === 0 ? [] : namesServing(listed, PROGRAMS);
    const isIdle = programNames.length > 0 && this.hasIdlePrograms(listed);
    this.toolset = isIdle ? new Map([...listed].filter(([name]) => !programNames.includes(name))) : listed;
    this.programName = isIdle ? undefined : programNames[0];
    // The search for tools is this server's, or one that the client runs.
    this.hasServerSearch = Boolean(this.toolset.get(TOOL_SEARCH)?.search);
    const hasSearch = this.hasServerSearch || known.get(TOOL_SEARCH)?.form.kind === 'tool_search';
    this.deferred = hasSearch && !this.native?.searches ? deferredClientTools(known) : NO_TOOLS;
    this.findable = this.deferred.size === 0 ? this.toolset : new Map([...this.toolset, ...this.deferred]);
  }

  plan(): ToolPlan {
    const { input, findable, native } = this;
    this.noteDropped();
    const resolved = this.resolveChoice();
    const found = new Set([...knownTools(input.conversation ?? [], findable), ...resolved.named]);
    const offer = this.offer(found, resolved.allowed);
    const programs = this.programName !== undefined ? this.programTools(offer.toolset, resolved.allowed) : undefined;
    const modelTools = [...this.clientDefinitions(found), ...this.serverDefinitions(offer, programs)];
    return {
      tools: input.tools,
      forms: this.forms(),
      choice: input.choice ?? 'auto',
      modelTools,
      findable,
      ...offer,
      ...choiceAmong(modelTools, offer.toolset, resolved),
      denied: programs ? this.deniedBesidePrograms(offer.toolset) : input.denied,
      programs,
      native,
    };
  }

  /** Whether programs could call nothing, which is noted. */
  private hasIdlePrograms(listed: Toolset): boolean {
    if (this.client.programs.size > 0 || [...listed.values()].some(({ programs }) => programs)) return false;
    this.noteDrop("No tool has 'programmatic' among its 'allowed_callers', so the model is offered no programs.");
    return true;
  }

  /** Notes the client's tools that the model is not offered. */
  private noteDropped(): void {
    const { native, programName } = this;
    const { known, unknown, repeated, indirect } = this.client;
    for (const tool of unknown) {
      if (!native?.hosted.includes(tool))
        this.noteDrop(`Tools of type '${printedType(tool.type)}' cannot be run here; the model is not offered it.`);
    }
    for (const name of repeated) this.noteDrop(`Two tools are called '${name}'; the model is offered the first.`);
    if (programName !== undefined || native?.runsPrograms) return;
    for (const name of indirect) {
      if (!known.has(name))
        this.noteDrop(`'allowed_callers' does not let the model itself call '${name}'; it is not offered.`);
    }
  }

  private noteDrop(message: string): void {
    this.note({ code: 'tool_dropped', message });
  }

  private resolveChoice(): ResolvedChoice {
    const { toolset, native, input, client } = this;
    const ofModel = [...toolset].flatMap(([name, { programs }]) => (programs === 'only' ? [] : [name]));
    const callable = new Set([...client.known.keys(), ...ofModel]);
    const tools = { callable, toolset, hosted: native?.hosted ?? [], unknown: client.unknown };
    return resolveToolChoice(input.choice, tools);
  }

  /** The server-run tools that are offered, where the model has found some already. */
  private offer(known: ReadonlySet<string>, allowed: ReadonlySet<string> | undefined): ModelToolset {
    const terms = {
      // Whether the model may call a tool that it has found.
      allows: (name: string) => allowed?.has(name) ?? true,
      known,
      // A search of the client's own needs no help.
      ofClient: this.hasServerSearch ? this.deferred : NO_TOOLS,
    };
    return modelToolset(this.toolset, terms, this.note);
  }

  private clientDefinitions(found: ReadonlySet<string>): readonly ToolDefinition[] {
    const offered = [...this.client.known].filter(([name]) => !this.deferred.has(name) || found.has(name));
    return offered.map(([, tool]) => tool.definition);
  }

  private serverDefinitions(
    { toolset, known }: ModelToolset,
    programs: ReadonlyMap<string, ProgramTool> | undefined,
  ): readonly ToolDefinition[] {
    const offered = toolDefinitions(toolset, known);
    if (!programs) return offered;
    const hidden = hiddenTools(this.findable, known);
    const isHidden = (name: string) => hidden(name) !== undefined;
    return offered.map((tool) => (tool.name === this.programName ? withProgramTools(tool, programs, isHidden) : tool));
  }

  private forms(): ReadonlyMap<string, ToolForm> {
    const { client, deferred } = this;
    const ofPrograms = this.programName === undefined ? [] : client.programs;
    if (client.known.size === 0 && this.programName === undefined) return NO_FORMS;
    const forms = new Map<string, ToolForm>();
    for (const [name, { form }] of client.known)
      forms.set(name, deferred.has(name) && form.namespace === undefined ? { ...form, isFound: true } : form);
    for (const [name, { form }] of ofPrograms) if (!forms.has(name)) forms.set(name, form);
    return forms;
  }

  /** The tools that programs may call: a search and a program are not among them, whatever the request says. */
  private programTools(toolset: Toolset, allowed: ReadonlySet<string> | undefined): ReadonlyMap<string, ProgramTool> {
    const programs = new Map<string, ProgramTool>();
    const isAllowed = (name: string) => allowed?.has(name) ?? true;
    for (const [name, { definition: tool, form }] of this.client.programs) {
      if (isAllowed(name) && form.kind !== 'tool_search')
        programs.set(name, { definition: tool, isListed: this.client.known.has(name) });
    }
    for (const [name, entry] of toolset) {
      const isInner = entry.search === undefined && entry.tool.requestedBy !== PROGRAMS;
      if (entry.programs && isInner && isAllowed(name))
        programs.set(name, { definition: definition(name, entry), isListed: entry.programs === 'also' });
    }
    return programs;
  }

  /** The tools that the model may not call, with those that are for its programs alone. */
  private deniedBesidePrograms(toolset: Toolset): ReadonlySet<string> {
    const { known, indirect } = this.client;
    const ofServer = [...toolset].flatMap(([name, { programs }]) => (programs === 'only' ? [name] : []));
    return new Set([...(this.input.denied ?? []), ...indirect.filter((name) => !known.has(name)), ...ofServer]);
  }
}

/** The client's tools that the model must find first. */
function deferredClientTools(own: ReadonlyMap<string, ClientTool>): Toolset {
  return new Map(
    [...own].flatMap(([name, { definition: tool, form, deferred, namespaceDescription }]) =>
      deferred ? [[name, deferredOfClient(tool, deferred, form.namespace, namespaceDescription)]] : [],
    ),
  );
}

/** The choice among the tools that are offered after all. */
function choiceAmong(
  tools: readonly ToolDefinition[],
  toolset: Toolset,
  { toolChoice, allowed }: ResolvedChoice,
): Pick<ResolvedChoice, 'toolChoice' | 'allowed'> {
  // A search that has nothing to find cannot be forced.
  const isSearchForced = typeof toolChoice === 'object' && toolChoice.name === TOOL_SEARCH;
  const isForceable = !isSearchForced || tools.some(({ name }) => name === TOOL_SEARCH);
  // The search for allowed tools is allowed as well.
  const searchesAllowed = allowed && toolset.get(TOOL_SEARCH)?.search;
  return {
    toolChoice: isForceable ? toolChoice : undefined,
    allowed: searchesAllowed ? new Set([...allowed, TOOL_SEARCH]) : allowed,
  };
}
