/** `POST /responses/{id}/submit_tool_outputs`: goes on with a response whose calls the client has run. */

import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { wholeResource } from '../../engine/history/keep-turn.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Limits } from '../../ports/limits.ts';
import { fromStore, type StoredResponse } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isResponseId, quotedId } from '../../protocol/ids.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { listOf } from '../../protocol/json/schema-kinds.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { JsonReply, Reply } from '../../protocol/reply.ts';
import { invalid } from '../../protocol/responses/invalid.ts';
import { startedResource } from '../../protocol/responses/resource.ts';
import { openCalls } from '../../protocol/tool-calls/pair-calls.ts';
import { createResponse } from './create.ts';
import type { ResponsesApiSettings } from './settings.ts';
import { unforcedChoice } from './unforced-choice.ts';

const bodySchema = lazily((z) => {
  const output = z.object({ tool_call_id: z.string().nullish(), call_id: z.string().nullish(), output: z.unknown() });
  return z.object({
    tool_outputs: listOf(output).refine((outputs) => outputs.length > 0, 'it must not be empty'),
    stream: z.boolean().nullish(),
  });
});

type Output = z.infer<ReturnType<typeof bodySchema>>['tool_outputs'][number];

/** Answers with the next response. Throws `ApiError` as `createResponse` does. */
export async function submitToolOutputs(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<Reply | JsonReply> {
  return createResponse(await continued(request, settings), settings, turns);
}

/** The call as a request for the next response, under the settings of the one that it goes on with. */
async function continued(request: EndpointRequest, { store, limits }: ResponsesApiSettings): Promise<EndpointRequest> {
  const id = String(request.params.id);
  const { tool_outputs: outputs, stream } = checked(request.body, limits);
  const stored = isResponseId(id) ? await fromStore(() => store.get({ scope: request.scope, id })) : undefined;
  if (!stored)
    throw new ApiError('response_not_found', `Response with id ${quotedId(id)} not found.`, { param: 'response_id' });
  const input = outputItems(outputs, openCalls(wholeResource(stored)));
  return { ...request, body: { ...inherited(stored.resource), ...place(stored), input, stream } };
}

/** A turn of a conversation goes on there. */
function place({ id, resource }: StoredResponse): JsonObject {
  return isRecord(resource.conversation) ? { conversation: resource.conversation.id } : { previous_response_id: id };
}

function checked(given: unknown, limits: Limits): z.infer<ReturnType<typeof bodySchema>> {
  const body = bodyFields(given, limits);
  const result = bodySchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  return result.data;
}

const KEPT = [
  'model',
  'instructions',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'max_output_tokens',
  'max_tool_calls',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'top_logprobs',
  'truncation',
  'metadata',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'user',
  'store',
  'tools',
] as const;

/** One turn in two requests. */
function inherited(kept: JsonObject): JsonObject {
  const resource: JsonObject = { ...kept, ...(isRecord(kept.requested) ? kept.requested : {}) };
  const defaults = defaultFields();
  const changed = KEPT.filter((key) => resource[key] !== undefined && !isDeepStrictEqual(resource[key], defaults[key]));
  return {
    ...Object.fromEntries(changed.map((key) => [key, resource[key]])),
    tool_choice: unforcedChoice(resource.tool_choice),
  };
}

/** Values that a response has where its request had none: they are not settings, and not every model server accepts them. */
function defaultFields(): JsonObject {
  return startedResource({ id: '', createdAt: 0, body: { model: '' }, tools: { tools: [], choice: 'auto' } });
}

/** One output for each open call, by its call id or its item's. Throws, naming the ids that do not fit. */
function outputItems(outputs: readonly Output[], calls: readonly JsonObject[]): readonly JsonObject[] {
  // By maps and sets: a client may send very many outputs.
  const open = new Map(calls.toReversed().flatMap((call) => [call.id, call.call_id].map((id) => [id, call] as const)));
  const items = outputs.map((each) => {
    const id = each.tool_call_id ?? each.call_id;
    return { id, call: open.get(id), output: textOf(each.output) };
  });
  refuse(
    'No open tool call with the id',
    items.filter(({ call }) => !call).map(({ id }) => id),
  );
  const answered = new Set<JsonObject | undefined>();
  const again = items.filter(({ call }) => answered.has(call) || !answered.add(call));
  refuse(
    'More than one tool output for function call',
    again.map(({ id }) => id),
  );
  const missing = calls.filter((call) => !answered.has(call));
  refuse(
    'No tool output found for function call',
    missing.map((call) => call.call_id),
  );
  return items.map(({ call, output }) => ({ type: `${call?.type}_output`, call_id: call?.call_id, output }));
}

/** Content parts stay as they are; any other value that is not text becomes JSON. */
function textOf(output: unknown): unknown {
  if (typeof output === 'string' || Array.isArray(output)) return output;
  return output === undefined || output === null ? '' : JSON.stringify(output);
}

/** Ids that a message names. */
const MOST_NAMED = 5;

function refuse(why: string, ids: readonly unknown[]): void {
  if (ids.length === 0) return;
  const named = ids.slice(0, MOST_NAMED).map(quotedId).join(', ');
  const others = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : '';
  throw new ApiError('invalid_value', `${why} ${named}${others}.`, { param: 'tool_outputs' });
}
