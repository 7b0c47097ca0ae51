/** The response resource: always all of its keys, with the request's values or OpenAI's defaults. */

import { isRecord } from '../../protocol/record.ts';
import { responseError } from '../../protocol/responses/response-error.ts';
import type { TurnEnd } from '../events.ts';
import { conversationId } from '../ids.ts';
import type { JsonObject } from '../record.ts';
import type { PresentItem } from '../tool-calls/kinds.ts';
import type { CreateBody } from './schema.ts';
import { withoutSecrets } from './tool-secrets.ts';

/** The fields of the resource that are fixed before the turn begins. */
interface ResourceStart {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly body: CreateBody;
  /** The client's tools and its tool choice, as they are echoed. */
  readonly tools: { readonly tools: readonly JsonObject[]; readonly choice: unknown };
}

/** The resource in `response.created`: everything except how the turn will end. */
export function startedResource({ id, createdAt, body, tools }: ResourceStart): JsonObject {
  const { text, prompt_cache_options: cacheOptions, prompt_cache_retention: cacheRetention } = body;
  const { choice } = tools;
  const choiceEcho = isRecord(choice) ? withoutSecrets(choice) : choice;
  const isAllowedTools = isRecord(choice) && choice.type === 'allowed_tools';
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    status: 'in_progress',
    background: body.background ?? false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model: body.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id || null,
    prompt_cache_key: body.prompt_cache_key || null,
    reasoning: { effort: body.reasoning?.effort || null, summary: body.reasoning?.summary || null },
    safety_identifier: body.safety_identifier || null,
    service_tier: body.service_tier || 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: { format: formatEcho(text?.format), ...(text?.verbosity ? { verbosity: text.verbosity } : {}) },
    tool_choice: isAllowedTools ? Object.assign({ mode: 'auto' }, choiceEcho) : choiceEcho,
    tools: tools.tools.map(toolEcho),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    truncation: body.truncation ?? 'disabled',
    usage: null,
    // Only where a request has them: clients of the older API refuse fields that they do not know.
    ...(cacheOptions ? { prompt_cache_options: cacheOptions } : {}),
    ...(cacheRetention ? { prompt_cache_retention: cacheRetention } : {}),
    ...(body.user ? { user: body.user } : {}),
    ...(body.prompt ? { prompt: body.prompt } : {}),
    ...(body.conversation ? { conversation: { id: conversationId(body.conversation) } } : {}),
    metadata: body.metadata ?? {},
  };
}

/** The resource in the store and, with the client's presentation, in the last event and in a JSON answer. */
export function endedResource(
  started: JsonObject,
  end: TurnEnd,
  presentItem: PresentItem = (item) => item,
): JsonObject {
  return { ...endedFields(started, end), output: end.output.map(presentItem) };
}

/** The same without its `output`, if the started one has none. */
export function endedFields(started: JsonObject, end: TurnEnd): JsonObject {
  const { model, serviceTier, contentFilters } = end.upstream ?? {};
  return {
    ...started,
    ...(model === undefined ? {} : { model }),
    ...(serviceTier === undefined ? {} : { service_tier: serviceTier }),
    ...(contentFilters === undefined ? {} : { content_filters: contentFilters }),
    completed_at: end.completedAt,
    status: end.status,
    error: end.error && responseError(end.error),
    incomplete_details: end.reason && { reason: end.reason },
    usage: end.usage,
  };
}

/**
 * The resource as it is stored, without its `output`: the model that answered may have another name than the requested
 * one, and a continuation requests the latter again.
 */
export function storedFields(started: JsonObject, end: TurnEnd): JsonObject {
  const ended = endedFields(started, end);
  const { model, service_tier } = started;
  const isAsRequested = ended.model === model && ended.service_tier === service_tier;
  return isAsRequested ? ended : { ...ended, requested: { model, service_tier } };
}

function formatEcho(format: NonNullable<CreateBody['text']>['format']): JsonObject {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' };
  const { type, name, description = null, schema = null, strict } = format;
  return { type, name, description, schema, strict: strict ?? false };
}

/** The fields of a function that are echoed only where it has them. */
const RARE_FIELDS = ['allowed_callers', 'async', 'defer_loading', 'output_schema'];

/** Function tools have all their keys. Others are echoed as sent, without possible secrets. */
function toolEcho(tool: JsonObject): JsonObject {
  if (tool.type !== 'function') return withoutSecrets(tool);
  const { type, name, description, parameters, strict } = tool;
  const rare = RARE_FIELDS.filter((field) => tool[field] !== undefined).map((field) => [field, tool[field]]);
  return {
    ...{ type, name, description: description ?? null, parameters: parameters ?? null, strict: strict ?? null },
    ...withoutSecrets(Object.fromEntries(rare)),
  };
}
