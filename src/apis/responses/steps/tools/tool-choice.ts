/** What a request's `tool_choice` means: how the model may use the tools, and which of them it must be offered. */

import { namesServing } from '../../../../engine/tools/toolset.ts';
import type { Toolset } from '../../../../ports/toolset.ts';
import { ApiError } from '../../../../protocol/errors.ts';
import type { ToolChoice } from '../../../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../../../protocol/record.ts';
import { refuseLong } from '../../../../protocol/responses/invalid.ts';
import { CLIENT_CALL_KINDS, COMPUTER_CALL, isClientTool, isComputer } from '../../../../protocol/tool-calls/kinds.ts';
import { PROGRAMS } from '../../../../protocol/tool-calls/program-call.ts';
import { TOOL_SEARCH } from '../../../../protocol/tool-calls/tool-search-call.ts';
import { modelToolName } from './client-tools.ts';
import { isSameHostedTool } from './native-tools.ts';

/** The choice, resolved against the tools of the request. */
export interface ResolvedChoice {
  readonly toolChoice: ToolChoice | undefined;
  /** The only tools that the model may call, where the choice limits them; empty for none. */
  readonly allowed: ReadonlySet<string> | undefined;
  /** The tools that the choice names one by one: the model must be offered those. */
  readonly named: readonly string[];
}

/** The tools that a choice may name. */
interface ChoiceTools {
  /** The model's names for the client's tools and the server-run ones. */
  readonly callable: ReadonlySet<string>;
  readonly toolset: Toolset;
  /** Those that the model's own server runs. */
  readonly hosted: readonly JsonObject[];
  /** Those that nobody here runs. */
  readonly unknown: readonly JsonObject[];
}

const ANY: ResolvedChoice = { toolChoice: undefined, allowed: undefined, named: [] };
const NO_CALLS: ReadonlySet<string> = new Set<string>();

/** Throws `invalid_value` for a choice that cannot be satisfied. */
export function resolveToolChoice(choice: unknown, tools: ChoiceTools): ResolvedChoice {
  const { callable, toolset, hosted, unknown } = tools;
  if (typeof choice === 'string') {
    const allowed = choice === 'none' ? NO_CALLS : undefined;
    // The cast: it has been validated.
    if (callable.size > 0 || hosted.length > 0) return { ...ANY, toolChoice: choice as ToolChoice, allowed };
    if (choice !== 'required') return { ...ANY, allowed };
    const [first] = unknown;
    if (first)
      throw choiceError(
        `Tool choice 'required' cannot be met: no tool of this request can be run here, such as '${printedType(first.type)}'.`,
      );
    throw choiceError("Tool choice 'required' must be specified with 'tools' parameter.");
  }
  if (!isRecord(choice)) return ANY;
  const { type } = choice;
  if (type === 'allowed_tools') return allowedTools(choice, tools);
  // What it finds may be called, too.
  if (type === TOOL_SEARCH && toolset.get(TOOL_SEARCH)?.search) return { ...ANY, toolChoice: { name: TOOL_SEARCH } };
  // What it calls may be called, too.
  const [programs] = type === PROGRAMS ? namesServing(toolset, PROGRAMS) : [];
  if (programs !== undefined) return { ...ANY, toolChoice: { name: programs } };
  const isHosted = hosted.some((tool) => isSameHostedTool(choice, tool));
  if (type === 'mcp' || namesServing(toolset, type).length > 0 || isHosted)
    return allowedTools({ tools: [choice], mode: 'required' }, tools);
  // An answer of the model's own would pass for one that rests on the tool.
  if (!isClientTool(type))
    throw choiceError(`Tool choice '${printedType(type)}' cannot be met: no tool of this type is offered.`);

  const name = choiceName(choice);
  const whole = choiceModelName(choice);
  // A tool that a search found is named by its calls as its own namespace.
  const isFolded = choice.namespace === name && !(whole !== undefined && callable.has(whole));
  const modelName = isFolded ? choiceModelName({ ...choice, namespace: undefined }) : whole;
  if (modelName !== undefined && callable.has(modelName))
    return { ...ANY, toolChoice: { name: modelName }, named: [modelName] };
  throw choiceError(`Tool choice '${typeof name === 'string' ? name : 'function'}' not found in 'tools' parameter.`);
}

/** The type of a tool as messages quote it. */
export function printedType(type: unknown): string {
  return typeof type === 'string' ? type.slice(0, 100) : typeof type;
}

const FOR_PROGRAMS = "Tool choice cannot be met: 'allowed_callers' lets only programs call the tools that it names.";
/** Each may name all tools of a server. */
const MAX_ALLOWED = 4096;

/** All tools stay in the prompt; one required tool is the same as naming it, which every server supports. */
function allowedTools({ tools, mode }: JsonObject, { callable, toolset, hosted }: ChoiceTools): ResolvedChoice {
  if (!Array.isArray(tools)) throw choiceError("Missing required parameter: 'tool_choice.tools'.");
  refuseLong('tool_choice.tools', tools.length, MAX_ALLOWED);
  const findNames = entryReader(toolset);
  const entries = tools.filter(isRecord);
  const chosen = entries.map((tool) => ({ isNamed: Boolean(choiceName(tool)), names: findNames(tool) }));
  const names = chosen.flatMap((each) => each.names);
  const offered = names.filter((name) => callable.has(name));
  const hasHosted = entries.some((entry) => hosted.some((tool) => isSameHostedTool(entry, tool)));
  if (mode === 'required' && offered.length === 0 && !hasHosted) {
    const isForPrograms = names.some((name) => toolset.has(name));
    throw choiceError(isForPrograms ? FOR_PROGRAMS : "No tool of 'tool_choice.tools' is in 'tools'.");
  }
  const [only] = mode === 'required' && offered.length === 1 && !hasHosted ? offered : [];
  const allowed = new Set(names);
  if (only !== undefined) return { toolChoice: { name: only }, allowed, named: [only] };
  const named = chosen.flatMap((each) => (each.isNamed ? each.names : []));
  return { toolChoice: mode === 'required' ? 'required' : 'auto', allowed, named };
}

/**
 * Reads the model's names for what an entry of `allowed_tools` means: a server's label means all of its tools, or the named
 * one. Looked up, and each server's tools once: a request may have thousands of entries, and a server thousands of tools.
 */
function entryReader(toolset: Toolset): (entry: JsonObject) => readonly string[] {
  const byServer = new Map<unknown, Map<unknown, string[]>>();
  for (const [modelName, { tool }] of toolset) {
    const names = byServer.get(tool.server) ?? new Map<unknown, string[]>();
    byServer.set(tool.server, names);
    names.set(tool.name, [...(names.get(tool.name) ?? []), modelName]);
  }
  const byType = new Map<unknown, readonly string[]>();
  return (entry) => {
    const { type, server_label: label } = entry;
    const serving = byType.get(type) ?? namesServing(toolset, type);
    byType.set(type, serving);
    if (serving.length > 0) return serving;
    // Its calls have no name.
    if (isComputer(type)) return [COMPUTER_CALL];
    if (type !== 'mcp') return [choiceModelName(entry)].filter((name) => name !== undefined);
    const names = byServer.get(label);
    const name = choiceName(entry) ?? undefined;
    if (name !== undefined) return names?.get(name) ?? [];
    byServer.delete(label);
    return [...(names?.values() ?? [])].flat();
  };
}

/** Some clients name a function as Chat Completions does; tools with a type of their own are named by it. */
function choiceName({ type, name, function: called }: JsonObject): unknown {
  if (isClientTool(type) && CLIENT_CALL_KINDS[type].functionFor) return type;
  return name ?? (isRecord(called) ? called.name : undefined);
}

function choiceModelName(tool: JsonObject): string | undefined {
  const name = choiceName(tool);
  if (typeof name !== 'string') return undefined;
  const { namespace } = tool;
  const kind = tool.type === 'custom' ? 'custom' : 'function';
  return modelToolName({ kind, name, ...(typeof namespace === 'string' ? { namespace } : {}) });
}

function choiceError(message: string): ApiError {
  return new ApiError('invalid_value', message, { param: 'tool_choice' });
}
