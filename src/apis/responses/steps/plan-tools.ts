/** Determines which tools the model is offered, and how it may use them. */

import type { Toolset } from '../../../ports/toolset.ts';
import { ApiError } from '../../../protocol/errors.ts';
import type { ToolChoice, ToolDefinition } from '../../../protocol/model-request.ts';
import type { Note } from '../../../protocol/note.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { refuseLong } from '../../../protocol/responses/invalid.ts';
import type { ToolForm } from '../../../protocol/tool-calls/tool-form.ts';
import { clientToolsOnly, definitions, namesServing } from '../../../tools/toolset.ts';
import { modelNameOf, readClientTools } from './client-tools.ts';

/** The tools that the model is offered, and how it may use them. */
export interface ToolPlan {
  /** The client's tools as they are echoed. */
  readonly tools: readonly JsonObject[];
  readonly choice: unknown;
  /** The client's definition of its tools, by the model's names for them. */
  readonly forms: ReadonlyMap<string, ToolForm>;
  readonly modelTools: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | undefined;
  /** Set where `allowed_tools` limits the calls. */
  readonly allowed: ReadonlySet<string> | undefined;
}

/** The client's tools, those in its input, and its choice. */
interface GivenTools {
  readonly tools: readonly JsonObject[];
  readonly additional?: readonly JsonObject[];
  readonly choice: unknown;
}

const NO_FORMS: ToolPlan['forms'] = new Map();

/** Determines the offered tools: the client's and the server-run ones. Tools that this server cannot run are noted. */
export function planTools(given: GivenTools, toolset: Toolset, note: (note: Note) => void): ToolPlan {
  const { tools, additional = [], choice } = given;
  const { known, unknown, repeated } = readClientTools(clientToolsOnly([...tools, ...additional], toolset));
  for (const type of unknown) note(droppedTool(type));
  for (const name of repeated) note(repeatedTool(name));
  const modelTools = [...[...known.values()].map(({ definition }) => definition), ...definitions(toolset)];
  const forms = known.size === 0 ? NO_FORMS : new Map([...known].map(([name, { form }]) => [name, form]));
  return { tools, forms, choice: choice ?? 'auto', modelTools, ...settleChoice(choice, modelTools, toolset, note) };
}

function droppedTool(type: string): Note {
  return { code: 'tool_dropped', message: `Tools of type '${type}' cannot be run here; the model is not offered it.` };
}

function repeatedTool(name: string): Note {
  return { code: 'tool_dropped', message: `Two tools are called '${name}'; the model is offered the first.` };
}

type Settled = Pick<ToolPlan, 'toolChoice' | 'allowed'>;

function settleChoice(
  choice: unknown,
  modelTools: readonly ToolDefinition[],
  toolset: Toolset,
  note: (note: Note) => void,
): Settled {
  if (typeof choice === 'string') return { toolChoice: wordChoice(choice, modelTools), allowed: undefined };
  if (!isRecord(choice)) return { toolChoice: undefined, allowed: undefined };
  if (choice.type === 'allowed_tools') return allowedTools(choice, modelTools, toolset);
  if (choice.type === 'mcp' || namesServing(toolset, choice.type).length > 0)
    return allowedTools({ tools: [choice], mode: 'required' }, modelTools, toolset);
  if (choice.type === 'function' || choice.type === 'custom')
    return { toolChoice: namedChoice(choice, modelTools), allowed: undefined };
  note({ code: 'tool_choice_dropped', message: `A tool_choice of type '${choice.type}' cannot be met here.` });
  return { toolChoice: undefined, allowed: undefined };
}

function wordChoice(choice: string, modelTools: readonly ToolDefinition[]): ToolChoice | undefined {
  if (modelTools.length > 0) return choice as ToolChoice;
  if (choice === 'required') throw choiceError("Tool choice 'required' must be specified with 'tools' parameter.");
  return undefined;
}

function namedChoice(choice: JsonObject, modelTools: readonly ToolDefinition[]): ToolChoice {
  const name = nameIn(choice);
  const known = modelNameIn(choice);
  if (known !== undefined && modelTools.some((tool) => tool.name === known)) return { name: known };
  throw choiceError(`Tool choice '${typeof name === 'string' ? name : 'function'}' not found in 'tools' parameter.`);
}

/** Each may name all tools of a server. */
const MOST_ALLOWED = 4096;

/** All tools stay in the prompt; one required tool is the same as naming it, which every server supports. */
function allowedTools({ tools, mode }: JsonObject, modelTools: readonly ToolDefinition[], toolset: Toolset): Settled {
  if (!Array.isArray(tools)) throw choiceError("Missing required parameter: 'tool_choice.tools'.");
  refuseLong('tool_choice.tools', tools.length, MOST_ALLOWED);
  const names = tools.filter(isRecord).flatMap((tool) => namesOf(tool, toolset));
  const known = new Set(modelTools.map(({ name }) => name));
  const callable = names.filter((name) => known.has(name));
  if (mode === 'required' && callable.length === 0) throw choiceError("No tool of 'tool_choice.tools' is in 'tools'.");
  const only = callable.length === 1 && mode === 'required' ? { name: callable[0] as string } : undefined;
  return { toolChoice: only ?? (mode === 'required' ? 'required' : 'auto'), allowed: new Set(names) };
}

/** A server's label means all of its tools, or the named one. */
function namesOf(tool: JsonObject, toolset: Toolset): readonly string[] {
  const { type, server_label: label } = tool;
  const served = namesServing(toolset, type);
  if (served.length > 0) return served;
  const name = nameIn(tool);
  if (type !== 'mcp') return [modelNameIn(tool)].filter((known) => known !== undefined);
  return [...toolset]
    .filter(([, { tool }]) => tool.server === label && (name === undefined || name === null || tool.name === name))
    .map(([modelName]) => modelName);
}

/** Some clients name a function as Chat Completions does. */
function nameIn({ name, function: called }: JsonObject): unknown {
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
