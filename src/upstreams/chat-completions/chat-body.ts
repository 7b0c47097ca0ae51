/** Writes a model request as the body of `POST /chat/completions`. */

import { type MessageOptions, toChatMessages } from '../../protocol/chat-completions/messages.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest, TextFormat, ToolDefinition } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { passedOn } from '../http/passed-on.ts';

/** Request settings of a model server. */
export interface BodyOptions extends MessageOptions {
  /** The field that limits the answer; OpenAI's newest models refuse the older one, most other servers know only it. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
}

/** Writes the body, always requesting a stream and its usage. Fields without a value are undefined, so the JSON omits them. */
export function toChatBody(request: ModelRequest, options: BodyOptions, skipped: (item: Item) => void): JsonObject {
  return {
    model: request.model,
    messages: toChatMessages(request, options, skipped),
    stream: true,
    stream_options: { include_usage: true },
    ...toolFields(request),
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
function toolFields({ tools, toolChoice, parallelToolCalls }: ModelRequest): JsonObject {
  if (tools.length === 0) return {};
  const choice =
    typeof toolChoice === 'object' ? { type: 'function', function: { name: toolChoice.name } } : toolChoice;
  return { tools: tools.map(chatTool), tool_choice: choice, parallel_tool_calls: parallelToolCalls };
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
