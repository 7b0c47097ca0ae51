/** Writes a model request as the body of `POST /chat/completions`. */

import { type MessageOptions, toChatMessages } from '../../protocol/chat-completions/messages.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest, TextFormat, ToolDefinition } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { passedOn } from '../http/passed-on.ts';
import type { ToolChoiceForms } from './providers.ts';

/** Request settings of a model server. */
export interface BodyOptions extends MessageOptions {
  /** The field that limits the answer; OpenAI's newest models refuse the older one, most other servers know only it. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** The forms of `tool_choice` that the server obeys. */
  readonly toolChoice: ToolChoiceForms;
}

/** Writes the body, always requesting a stream and its usage. Fields without a value are undefined, so the JSON omits them. */
export function toChatBody(request: ModelRequest, options: BodyOptions, skipped: (item: Item) => void): JsonObject {
  return {
    model: request.model,
    messages: toChatMessages(request, options, skipped),
    stream: true,
    stream_options: { include_usage: true },
    ...inKnownForm(toolFields(request), options.toolChoice),
    [options.maxTokensField]: request.maxOutputTokens,
    temperature: request.temperature,
    top_p: request.topP,
    // OpenAI's own API lacks it, and other servers' names for it are the same.
    top_k: request.topK,
    stop: request.stopSequences,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    logprobs: request.topLogprobs === undefined ? undefined : true,
    top_logprobs: request.topLogprobs || undefined,
    response_format: responseFormat(request.textFormat),
    verbosity: request.verbosity,
    reasoning_effort: request.reasoningEffort,
    ...passedOn(request),
  };
}

/** Servers refuse `tool_choice` without tools, so both are sent or neither. */
function toolFields({ tools, toolChoice: choice, allowedTools, parallelToolCalls }: ModelRequest): JsonObject {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(chatTool),
    tool_choice: choiceField(choice, allowedTools),
    parallel_tool_calls: parallelToolCalls,
  };
}

function choiceField(choice: ModelRequest['toolChoice'], allowed: readonly string[] | undefined): unknown {
  if (typeof choice === 'object') return named(choice.name);
  if (!allowed || choice === 'none') return choice;
  if (allowed.length === 0) return 'none';
  return { type: 'allowed_tools', allowed_tools: { mode: choice ?? 'auto', tools: allowed.map(named) } };
}

function named(name: string): JsonObject {
  return { type: 'function', function: { name } };
}

/** The body of a chat request, with its choice of tools in a form that the server obeys. */
export function inKnownForm(body: JsonObject, forms: ToolChoiceForms): JsonObject {
  const { tool_choice: choice, tools } = body;
  if (forms === 'all' || !isRecord(choice)) return body;
  if (choice.type === 'allowed_tools') {
    const { mode } = isRecord(choice.allowed_tools) ? choice.allowed_tools : choice;
    return { ...body, tool_choice: mode ?? 'auto' };
  }
  const { function: called } = choice;
  if (forms !== 'words' || !isRecord(called) || !Array.isArray(tools)) return body;
  const forced = tools.filter(
    (tool) => isRecord(tool) && isRecord(tool.function) && tool.function.name === called.name,
  );
  return forced.length === 0 ? body : { ...body, tools: forced, tool_choice: 'required' };
}

function chatTool({ name, description, parameters, strict }: ToolDefinition): JsonObject {
  const schema = parameters ?? { type: 'object', properties: {} };
  return { type: 'function', function: { name, description, parameters: schema, strict } };
}

function responseFormat(format: TextFormat | undefined): JsonObject | undefined {
  if (!format || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json_object' };
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}
