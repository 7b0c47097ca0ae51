/** Writes a model request as the body of `POST /v1/messages`. */

import type { ModelRequest, ToolDefinition } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { definedFields, type JsonObject } from '../../protocol/record.ts';
import { looseSchema } from '../../protocol/tool-schemas/tool-schema.ts';
import { lostSettings } from '../http/lost-settings.ts';
import { skippedItem } from '../http/skipped-item.ts';
import { type Conversation, isThought, type Message, toConversation } from './messages.ts';
import type { AnthropicSettings, ServerTool } from './options.ts';
import { planThinking, type ThinkingPlan } from './thinking.ts';

/** How the body is written. */
type BodySettings = Pick<
  AnthropicSettings,
  'maxTokens' | 'thinking' | 'thinkingDisplay' | 'promptCache' | 'serverTools' | 'lastMessage'
>;

const LOST_SETTINGS = [
  ...(['presence_penalty', 'frequency_penalty', 'top_logprobs', 'text.verbosity', 'prompt_cache_options'] as const),
  ...(['prompt_cache_retention', 'moderation', "the 'output_schema' of tools"] as const),
];
const CONTINUE: Message = { role: 'user', content: [{ type: 'text', text: 'Continue.' }] };

/** Writes the body and always requests a stream. Notes the settings that the API does not support. */
export function toMessagesBody(request: ModelRequest, settings: BodySettings, note: (note: Note) => void): JsonObject {
  const drop = (setting: string) =>
    note({ code: 'setting_dropped', message: `The Messages API has no field for ${setting}; it is left out.` });
  const written = toConversation(request, (item) => note(skippedItem(item, 'a Messages request')));
  // The API refuses a conversation without messages, such as one of instructions alone.
  const needsUser = settings.lastMessage(request.model) === 'user' || written.messages.length === 0;
  // Newer models refuse to go on with a message of the assistant's.
  const hasUser = !needsUser || written.messages.at(-1)?.role === 'user';
  const messages = hasUser ? written.messages : [...written.messages, CONTINUE];
  const conversation = { ...written, messages };
  for (const setting of lostSettings(request, LOST_SETTINGS)) drop(setting);
  const tools = [
    ...allowedServerTools(request, settings, drop),
    ...request.tools.map((tool) => messagesTool(tool, note)),
  ];
  const plan = thinkingPlan(request, settings, drop);
  const thinking = thinkingField(plan, request, conversation, settings, drop);
  const { textFormat, safetyIdentifier, user } = request;
  const userId = safetyIdentifier ?? user;
  const schema = textFormat?.type === 'json_schema' ? textFormat.schema : undefined;
  if (textFormat && textFormat.type !== 'text' && !schema) drop(`text.format '${textFormat.type}' without a schema`);
  const config = definedFields({ effort: plan.effort, format: schema && { type: 'json_schema', schema } });
  return definedFields({
    model: request.model,
    max_tokens: plan.maxTokens,
    stream: true,
    ...prompt(conversation, tools.length > 0 ? tools : toolsCalled(conversation), settings.promptCache),
    tool_choice: toolChoice(request, tools.length > 0, conversation),
    thinking,
    output_config: Object.keys(config).length > 0 ? config : undefined,
    ...sampling(request, thinking?.type !== 'disabled' && thinking !== undefined, drop),
    stop_sequences: request.stopSequences,
    metadata: userId === undefined ? undefined : { user_id: userId },
  });
}

function thinkingPlan(
  { model, reasoningEffort: effort, maxOutputTokens: limit }: ModelRequest,
  { thinking, maxTokens }: BodySettings,
  drop: (setting: string) => void,
): ThinkingPlan {
  const table = thinking(model);
  const known = effort !== undefined && Object.hasOwn(table, effort);
  if (effort !== undefined && !known) drop(`reasoning.effort '${effort}'`);
  const plan = planThinking(known ? table[effort] : undefined, limit, maxTokens);
  if (known && typeof table[effort] === 'number' && plan.budget === undefined) {
    drop('reasoning.effort with so small a max_output_tokens');
  }
  return plan;
}

function thinkingField(
  { budget, effort, off }: ThinkingPlan,
  request: ModelRequest,
  { messages }: Conversation,
  { thinkingDisplay }: BodySettings,
  drop: (setting: string) => void,
): JsonObject | undefined {
  if (off) return { type: 'disabled' };
  if (budget === undefined && effort === undefined) return undefined;
  if (request.toolChoice === 'required' || typeof request.toolChoice === 'object') {
    drop('thinking together with a forced tool_choice');
    return undefined;
  }
  if (budget !== undefined && answersThoughtless(messages)) {
    drop('thinking in the middle of a turn that began without it');
    return undefined;
  }
  const display = request.thinkingDisplay ?? thinkingDisplay;
  const shown = display ? { display } : {};
  return budget === undefined ? { type: 'adaptive', ...shown } : { type: 'enabled', budget_tokens: budget, ...shown };
}

/** With a thinking budget the API refuses results of tool calls that follow no thought, such as another server's. */
function answersThoughtless(messages: readonly Message[]): boolean {
  const hasResult = ({ content }: Message) => content.some(({ type }) => type === 'tool_result');
  const newest = messages.at(-1);
  if (!newest || !hasResult(newest)) return false;
  const question = messages.findLastIndex((message) => message.role === 'user' && !hasResult(message));
  const first = messages[question + 1]?.content[0];
  return first !== undefined && !isThought(first);
}

/** Both default to 1; newer models accept only one of them, and neither together with thinking. */
function sampling(
  { temperature = 1, topP = 1, topK }: ModelRequest,
  thinks: boolean,
  drop: (setting: string) => void,
): JsonObject {
  const both = temperature !== 1 && topP !== 1;
  if (thinks && temperature !== 1) drop('temperature beside thinking');
  if (topP !== 1 && (thinks || both)) drop(thinks ? 'top_p beside thinking' : 'top_p beside temperature');
  if (thinks && topK !== undefined) drop('top_k beside thinking');
  if (thinks) return {};
  if (temperature > 1) drop('a temperature over 1');
  return definedFields({
    temperature: temperature < 1 ? temperature : undefined,
    top_p: topP !== 1 && !both ? topP : undefined,
    top_k: topK,
  });
}

/** Those that take `max_uses`; other tools, such as that which runs code, have no limit. */
const WEB_TOOL = /^web_/;

/**
 * The API accepts each name once; the request's own tools win, because the client knows them. Without those that the request
 * does not allow.
 */
function allowedServerTools(
  { tools, allowedTools, externalWebAccess, maxToolCalls }: ModelRequest,
  { serverTools: own }: BodySettings,
  drop: (setting: string) => void,
): readonly JsonObject[] {
  const taken = new Set(tools.map(({ name }) => name));
  for (const { name } of own) if (taken.has(name)) drop(`the server tool '${name}' beside a function of that name`);
  const refuse = ({ name }: ServerTool) => drop(`the server tool '${name}' where the request does not allow it`);
  const isForbidden = ({ type }: ServerTool) =>
    allowedTools !== undefined ||
    (externalWebAccess === false && WEB_TOOL.test(type)) ||
    (maxToolCalls !== undefined && !WEB_TOOL.test(type));
  const free = own.filter(({ name }) => !taken.has(name));
  for (const tool of free.filter(isForbidden)) refuse(tool);
  const allowed = free.filter((tool) => !isForbidden(tool));
  if (maxToolCalls === undefined) return allowed;
  // Each counts its own uses: the calls of the request are shared out between them.
  let left = maxToolCalls;
  return allowed.flatMap((tool, index) => {
    const share = Math.ceil(left / (allowed.length - index));
    const uses = Math.min(share, typeof tool.max_uses === 'number' ? tool.max_uses : share);
    left -= uses;
    if (uses > 0) return [{ ...tool, max_uses: uses }];
    refuse(tool);
    return [];
  });
}

/** The API refuses tool calls in the history without `tools`, so those tools are declared when the request has none. */
function toolsCalled({ messages }: Conversation): readonly JsonObject[] {
  const called = new Set(
    messages.flatMap(({ content }) =>
      content.filter(({ type }) => type === 'tool_use').map(({ name }) => String(name)),
    ),
  );
  return [...called].map((name) => ({ name, input_schema: { type: 'object' } }));
}

/** Without `strict`: OpenAI's strict schemas may contain keywords that this API refuses. */
function messagesTool({ name, description, parameters }: ToolDefinition, note: (note: Note) => void): JsonObject {
  const { schema, lost } = looseSchema(parameters, 'anthropic');
  if (lost.length > 0)
    note({
      code: 'setting_dropped',
      message: `The Messages API does not take all of the schema of the tool '${name}'; it is sent without ${lost.join(', ')}.`,
    });
  return definedFields({ name, description, input_schema: schema });
}

function toolChoice(
  { toolChoice: choice, parallelToolCalls }: ModelRequest,
  hasTools: boolean,
  { messages }: Conversation,
) {
  if (!hasTools) {
    return messages.some(({ content }) => content.some(({ type }) => type === 'tool_use'))
      ? { type: 'none' }
      : undefined;
  }
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (choice === 'none') return { type: 'none' };
  if (choice === 'required') return { type: 'any', ...single };
  if (typeof choice === 'object') return { type: 'tool', name: choice.name, ...single };
  return choice === 'auto' || parallelToolCalls === false ? { type: 'auto', ...single } : undefined;
}

/** The prompt has three layers, in the order in which the API caches them; the end of each is marked. */
function prompt({ system, messages }: Conversation, tools: readonly JsonObject[], cached: boolean): JsonObject {
  const withMark = (list: readonly JsonObject[]) => {
    const end = list.at(-1);
    return cached && end ? [...list.slice(0, -1), { ...end, cache_control: { type: 'ephemeral' } }] : list;
  };
  const last = messages.at(-1);
  return {
    tools: tools.length > 0 ? withMark(tools) : undefined,
    system: system.length > 0 ? withMark(system) : undefined,
    messages: last ? [...messages.slice(0, -1), { ...last, content: withMark(last.content) }] : messages,
  };
}
