/** Reads a checked body of `POST /responses` as items and as a request to a model. */

import type { ModelRequest, TextFormat, ToolChoice, ToolDefinition } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { inputItemId } from '../../protocol/ids.ts';
import { refuseLong } from '../../protocol/invalid.ts';
import type { Item } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, withFields } from '../../protocol/record.ts';
import { definitions, namesServing, type Offer, withoutServed } from '../../tools/toolset.ts';
import type { ToolForm } from '../../turn/state.ts';
import { modelNameOf, readClientTools } from './client-tools.ts';
import type { CreateBody } from './schema.ts';
import { withoutSecrets } from './tool-secrets.ts';
import { itemType } from './validate.ts';

type Fields = Readonly<Record<string, unknown>>;

const ID_PREFIX: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  reasoning: 'rs',
};

/** The request's own items, each with an id, a type and, where it is a message, a list of parts. */
export function inputItems(input: unknown, seed: string): readonly Item[] {
  if (input === undefined || input === null) return [];
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input as readonly Fields[]);
  return items.map((item, index) => wholeItem(item, seed, index));
}

function wholeItem(fields: Fields, seed: string, index: number): Item {
  const type = itemType(fields);
  const prefix = (Object.hasOwn(ID_PREFIX, type) && ID_PREFIX[type]) || 'item';
  const id = typeof fields.id === 'string' && fields.id !== '' ? fields.id : inputItemId(prefix, seed, index);
  const status = fields.status ?? 'completed';
  // One copy for each item: there may be 100,000.
  if (type === 'message') return withFields(fields, { type, id, status, content: partsOf(fields) });
  // The cast: what is left of an item has its type and its id.
  if (holdsTools(fields, type))
    return withoutSecrets({ ...fields, type, id, tools: fields.tools.filter(isRecord) }) as Item;
  return withFields(fields, type.endsWith('_output') ? { type, id, status } : { type, id });
}

/** Items of several types bring tools; a list of a server's tools was made here, and has no secrets. */
function holdsTools(fields: Fields, type: string): fields is Fields & { readonly tools: readonly unknown[] } {
  return Array.isArray(fields.tools) && type !== 'mcp_list_tools';
}

function partsOf({ role, content }: Fields): unknown {
  if (typeof content !== 'string') return content ?? [];
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [], logprobs: [] }]
    : [{ type: 'input_text', text: content }];
}

/** Which tools the model is offered and what it may do with them. */
export interface ToolPlan {
  /** The client's tools as they are echoed. */
  readonly tools: readonly Fields[];
  readonly choice: unknown;
  /** How the client knows its tools, by the names that the model knows. */
  readonly forms: ReadonlyMap<string, ToolForm>;
  readonly offered: readonly ToolDefinition[];
  readonly toolChoice: ToolChoice | undefined;
  /** Set where `allowed_tools` limits the calls. */
  readonly allowed: ReadonlySet<string> | undefined;
}

/** The client's tools, those in its input, and its choice. */
export interface GivenTools {
  readonly tools: readonly Fields[];
  readonly additional?: readonly Fields[];
  readonly choice: unknown;
}

const NO_FORMS: ToolPlan['forms'] = new Map();

/** Settles what the model is offered: the client's tools and the server's. Tools nobody here can run are noted. */
export function planTools(given: GivenTools, offer: Offer, note: (note: Note) => void): ToolPlan {
  const { tools, additional = [], choice } = given;
  const { known, unknown, repeated } = readClientTools(withoutServed([...tools, ...additional], offer));
  for (const type of unknown) note(droppedTool(type));
  for (const name of repeated) note(repeatedTool(name));
  const offered = [...[...known.values()].map(({ definition }) => definition), ...definitions(offer)];
  const forms = known.size === 0 ? NO_FORMS : new Map([...known].map(([name, { form }]) => [name, form]));
  return { tools, forms, choice: choice ?? 'auto', offered, ...settleChoice(choice, offered, offer, note) };
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
  offered: readonly ToolDefinition[],
  offer: Offer,
  note: (note: Note) => void,
): Settled {
  if (typeof choice === 'string') return { toolChoice: wordChoice(choice, offered), allowed: undefined };
  if (!isRecord(choice)) return { toolChoice: undefined, allowed: undefined };
  if (choice.type === 'allowed_tools') return allowedTools(choice, offered, offer);
  if (choice.type === 'mcp' || namesServing(offer, choice.type).length > 0)
    return allowedTools({ tools: [choice], mode: 'required' }, offered, offer);
  if (choice.type === 'function' || choice.type === 'custom')
    return { toolChoice: namedChoice(choice, offered), allowed: undefined };
  note({ code: 'tool_choice_dropped', message: `A tool_choice of type '${choice.type}' cannot be met here.` });
  return { toolChoice: undefined, allowed: undefined };
}

function wordChoice(choice: string, offered: readonly ToolDefinition[]): ToolChoice | undefined {
  if (offered.length > 0) return choice as ToolChoice;
  if (choice === 'required') throw choiceError("Tool choice 'required' must be specified with 'tools' parameter.");
  return undefined;
}

function namedChoice(choice: Fields, offered: readonly ToolDefinition[]): ToolChoice {
  const name = nameIn(choice);
  const known = modelNameIn(choice);
  if (known !== undefined && offered.some((tool) => tool.name === known)) return { name: known };
  throw choiceError(`Tool choice '${typeof name === 'string' ? name : 'function'}' not found in 'tools' parameter.`);
}

/** Each may stand for all tools of a server. */
const MOST_ALLOWED = 4096;

/** All tools stay in the prompt; one required tool is the same as naming it, which every server understands. */
function allowedTools({ tools, mode }: Fields, offered: readonly ToolDefinition[], offer: Offer): Settled {
  if (!Array.isArray(tools)) throw choiceError("Missing required parameter: 'tool_choice.tools'.");
  refuseLong('tool_choice.tools', tools.length, MOST_ALLOWED);
  const names = tools.filter(isRecord).flatMap((tool) => namesOf(tool, offer));
  const known = new Set(offered.map(({ name }) => name));
  const callable = names.filter((name) => known.has(name));
  if (mode === 'required' && callable.length === 0) throw choiceError("No tool of 'tool_choice.tools' is in 'tools'.");
  const only = callable.length === 1 && mode === 'required' ? { name: callable[0] as string } : undefined;
  return { toolChoice: only ?? (mode === 'required' ? 'required' : 'auto'), allowed: new Set(names) };
}

/** A server's label stands for all of its tools, or for the one that is named. */
function namesOf(tool: Fields, offer: Offer): readonly string[] {
  const { type, server_label: label } = tool;
  const served = namesServing(offer, type);
  if (served.length > 0) return served;
  const name = nameIn(tool);
  if (type !== 'mcp') return [modelNameIn(tool)].filter((known) => known !== undefined);
  return [...offer]
    .filter(([, { tool }]) => tool.server === label && (name === undefined || name === null || tool.name === name))
    .map(([modelName]) => modelName);
}

/** Some clients name a function as the Chat wire does. */
function nameIn({ name, function: called }: Fields): unknown {
  return name ?? (isRecord(called) ? called.name : undefined);
}

/** The name under which the model knows the tool. */
function modelNameIn(tool: Fields): string | undefined {
  const name = nameIn(tool);
  if (typeof name !== 'string') return undefined;
  const { namespace } = tool;
  const kind = tool.type === 'custom' ? 'custom' : 'function';
  return modelNameOf({ kind, name, ...(typeof namespace === 'string' ? { namespace } : {}) });
}

function choiceError(message: string): ApiError {
  return new ApiError('invalid_value', message, { param: 'tool_choice' });
}

const LOGPROBS = 'message.output_text.logprobs';

/** The request to the model: the conversation so far, and every setting that a model server may know. */
export function modelRequest(body: CreateBody, items: readonly Item[], plan: ToolPlan): ModelRequest {
  const settings = {
    instructions: body.instructions,
    toolChoice: plan.toolChoice,
    parallelToolCalls: body.parallel_tool_calls,
    textFormat: textFormat(body.text?.format),
    verbosity: body.text?.verbosity,
    reasoningEffort: body.reasoning?.effort,
    maxOutputTokens: body.max_output_tokens,
    temperature: body.temperature,
    topP: body.top_p,
    presencePenalty: body.presence_penalty,
    frequencyPenalty: body.frequency_penalty,
    topLogprobs: body.top_logprobs || (body.include?.includes(LOGPROBS) ? 0 : undefined),
    metadata: body.metadata,
    serviceTier: body.service_tier,
    safetyIdentifier: body.safety_identifier,
    promptCacheKey: body.prompt_cache_key,
    user: body.user,
  };
  const request: Record<string, unknown> = { model: body.model, items, tools: plan.offered };
  for (const [name, value] of Object.entries(settings))
    if (value !== undefined && value !== null) request[name] = value;
  // The cast: null means omitted, and what is left are values of the right types.
  return request as unknown as ModelRequest;
}

type Format = NonNullable<NonNullable<CreateBody['text']>['format']>;

function textFormat(format: Format | null | undefined): TextFormat | undefined {
  if (format?.type !== 'json_schema') return format?.type === 'json_object' ? { type: 'json_object' } : undefined;
  const { type, name, description, schema, strict } = format;
  return {
    type,
    name,
    ...(description ? { description } : {}),
    ...(schema ? { schema } : {}),
    ...(typeof strict === 'boolean' ? { strict } : {}),
  };
}
