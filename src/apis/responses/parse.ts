/** Reads a checked body of `POST /responses` as items and as a request to a model. */

import type { Offer } from '../../ports/toolset.ts';
import { ApiError } from '../../protocol/errors.ts';
import { inputItemId } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest, TextFormat, ToolChoice, ToolDefinition } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord } from '../../protocol/record.ts';
import type { CreateBody } from '../../protocol/responses/schema.ts';
import { withoutSecrets } from '../../protocol/responses/tool-secrets.ts';
import { itemType } from '../../protocol/responses/validate.ts';
import type { ToolForm } from '../../protocol/tool-form.ts';
import { definitions, namesServing, withoutServed } from '../../tools/toolset.ts';
import { additionalTools, modelNameOf, readClientTools } from './client-tools.ts';

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
  const item: Item = Object.assign({}, fields, { type, id });
  const status = item.status ?? 'completed';
  if (type === 'message') return Object.assign({}, item, { status, content: partsOf(item) });
  if (type === 'additional_tools' && Array.isArray(item.tools))
    return { ...item, tools: additionalTools([item]).map(withoutSecrets) };
  return type.endsWith('_output') ? Object.assign({}, item, { status }) : item;
}

function partsOf({ role, content }: Item): unknown {
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

/** All tools stay in the prompt; one required tool is the same as naming it, which every server understands. */
function allowedTools({ tools, mode }: Fields, offered: readonly ToolDefinition[], offer: Offer): Settled {
  if (!Array.isArray(tools)) throw choiceError("Missing required parameter: 'tool_choice.tools'.");
  const names = tools.filter(isRecord).flatMap((tool) => namesOf(tool, offer));
  const callable = names.filter((name) => offered.some((tool) => tool.name === name));
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
