/** Writes a model request as the body of `POST /chat/completions`. */

import { toChatMessages } from '../../protocol/chat-completions/messages.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { sharedFields } from '../http/passed-on.ts';
import {
  adaptMessages,
  answerLimit,
  type LeftOut,
  nearestEffort,
  refuseFileUrls,
  toolFields,
  withImageDetails,
} from './provider-rules.ts';
import type { RequestSettings, ToolChoiceForms } from './providers.ts';

/** Who hears of items and settings that are not sent. */
interface BodyReports {
  readonly skipped: (item: Item) => void;
  readonly leftOut: LeftOut;
}

/**
 * Writes the body as the server accepts it, requesting a stream and its usage, unless the server has none for the format.
 * Fields without a value are undefined, so the JSON omits them.
 */
export function toChatBody(request: ModelRequest, settings: RequestSettings, reports: BodyReports): JsonObject {
  const { skipped, leftOut } = reports;
  const messages = withImageDetails(toChatMessages(request, settings, skipped), settings.imageDetails);
  if (!settings.fileUrls) refuseFileUrls(messages);
  let format: { readonly type: string; readonly json_schema?: JsonObject } | undefined;
  if (request.textFormat && request.textFormat.type !== 'text') {
    const { type, ...schema } = request.textFormat;
    format = type === 'json_schema' ? { type, json_schema: schema } : { type };
  }
  const isStreamed = format === undefined || !settings.unstreamedFormats.some((type) => type === format.type);
  const body: Record<string, unknown> = {
    model: request.model,
    messages: adaptMessages(messages, settings),
    stream: isStreamed,
    stream_options: isStreamed ? { include_usage: true } : undefined,
    ...withKnownToolChoice(toolFields(request, settings, leftOut), settings.toolChoice),
    [settings.maxTokensField]: answerLimit(request, settings, leftOut),
    temperature: request.temperature,
    top_p: request.topP,
    // OpenAI's own API lacks it, and other servers' names for it are the same.
    top_k: request.topK,
    stop: request.stopSequences,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    logprobs: request.topLogprobs === undefined ? undefined : true,
    top_logprobs: request.topLogprobs || undefined,
    response_format: format,
    verbosity: request.verbosity,
    reasoning_effort: nearestEffort(request.reasoningEffort, settings.efforts, leftOut),
    ...sharedFields(request),
  };
  for (const field of settings.refusedFields) {
    if (body[field] === undefined) continue;
    if (!SILENT_FIELDS.has(field)) leftOut(`The model server does not take '${field}'; it is left out.`);
    body[field] = undefined;
  }
  return body;
}

/** The body of a chat request, with its choice of tools in a form that the server obeys. */
export function withKnownToolChoice(body: JsonObject, forms: ToolChoiceForms): JsonObject {
  const { tool_choice: choice, tools } = body;
  if (forms === 'auto' && choice === 'none') {
    const { tools: _, tool_choice: word, parallel_tool_calls: isParallel, ...rest } = body;
    return rest;
  }
  if (forms === 'auto' && choice) return { ...withKnownToolChoice(body, 'words'), tool_choice: 'auto' };
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

/** Without them the answer is the same: caches, counts and labels. */
const SILENT_FIELDS: ReadonlySet<string> = new Set([
  'stream_options',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'metadata',
  'user',
]);
