/** `POST /responses/{id}/submit_tool_outputs`: goes on with a response whose calls the client has run. */

import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { wholeResource } from '../../engine/history/keep-turn.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { fromStore } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isResponseId, quoteId } from '../../protocol/ids.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { listSchema } from '../../protocol/json/schema-kinds.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { JsonReply, Reply } from '../../protocol/reply.ts';
import { invalid } from '../../protocol/responses/invalid.ts';
import { startedResource } from '../../protocol/responses/resource.ts';
import { openCalls } from '../../protocol/tool-calls/conversation/pair-calls.ts';
import { createResponse } from './create.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';
import { unforcedChoice } from './unforced-choice.ts';

/** The body. */
export const submitSchema = lazily((z) => {
  const output = z.object({ tool_call_id: z.string().nullish(), call_id: z.string().nullish(), output: z.unknown() });
  return z.object({
    tool_outputs: listSchema(output).refine((outputs) => outputs.length > 0, 'it must not be empty'),
    stream: z.boolean().nullish(),
  });
});

type Output = z.infer<ReturnType<typeof submitSchema>>['tool_outputs'][number];

/** Answers with the next response. Throws `ApiError` as `createResponse` does. */
export async function submitToolOutputs(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<Reply | JsonReply> {
  return createResponse(await continuation(request, settings), settings, turns);
}

/** The call as a request for the next response, under the settings of the one that it goes on with. */
async function continuation(
  request: EndpointRequest,
  { store, limits }: ResponsesApiSettings,
): Promise<EndpointRequest> {
  const id = String(request.params.id);
  const sent = bodyFields(request.body, limits);
  const { success, data, error } = submitSchema().safeParse(sent);
  if (!success) throw invalid(error.issues, sent);
  const stored = isResponseId(id) ? await fromStore(() => store.get({ scope: request.scope, id })) : undefined;
  if (!stored)
    throw new ApiError('response_not_found', `Response with id ${quoteId(id)} not found.`, { param: 'response_id' });
  const input = outputItems(data.tool_outputs, openCalls(wholeResource(stored)));
  // A turn of a conversation goes on there.
  const { conversation } = stored.resource;
  const past = isRecord(conversation) ? { conversation: conversation.id } : { previous_response_id: stored.id };
  return { ...request, body: { ...inheritedSettings(stored.resource), ...past, input, stream: data.stream } };
}

const INHERITED = [
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
function inheritedSettings(stored: JsonObject): JsonObject {
  const resource: JsonObject = { ...stored, ...(isRecord(stored.requested) ? stored.requested : {}) };
  // Values that a response has where its request had none: they are not settings, and not every model server accepts them.
  const none = { tools: [], choice: 'auto' };
  const defaults = startedResource({ id: '', createdAt: 0, body: { model: '' }, tools: none });
  const changed = INHERITED.filter(
    (key) => resource[key] !== undefined && !isDeepStrictEqual(resource[key], defaults[key]),
  );
  return {
    ...Object.fromEntries(changed.map((key) => [key, resource[key]])),
    tool_choice: unforcedChoice(resource.tool_choice),
  };
}

/** One output for each open call, by its call id or its item's. Throws, naming the ids that do not fit. */
function outputItems(outputs: readonly Output[], calls: readonly JsonObject[]): readonly JsonObject[] {
  // By maps and sets: a client may send very many outputs.
  const open = new Map(calls.toReversed().flatMap((call) => [call.id, call.call_id].map((id) => [id, call] as const)));
  const found = outputs.map(({ tool_call_id, call_id, output }) => {
    const id = tool_call_id ?? call_id;
    return { id, call: open.get(id), output };
  });
  const unknown = found.filter(({ call }) => !call);
  refuseIds(
    'No open tool call with the id',
    unknown.map(({ id }) => id),
  );
  const answered = new Set<JsonObject | undefined>();
  const repeated = found.filter(({ call }) => answered.has(call) || !answered.add(call));
  refuseIds(
    'More than one tool output for function call',
    repeated.map(({ id }) => id),
  );
  const missing = calls.filter((call) => !answered.has(call));
  refuseIds(
    'No tool output found for function call',
    missing.map((call) => call.call_id),
  );
  return found.map(({ call, output }) => {
    // Content parts stay as they are; any other value that is not text becomes JSON.
    const isReadable = typeof output === 'string' || Array.isArray(output);
    const text = isReadable ? output : output === undefined || output === null ? '' : JSON.stringify(output);
    return { type: `${call?.type}_output`, call_id: call?.call_id, output: text };
  });
}

/** Ids that a message names. */
const MAX_IDS = 5;

function refuseIds(why: string, ids: readonly unknown[]): void {
  if (ids.length === 0) return;
  const listed = ids.slice(0, MAX_IDS).map(quoteId).join(', ');
  const others = ids.length > MAX_IDS ? ` and ${ids.length - MAX_IDS} more` : '';
  throw new ApiError('invalid_value', `${why} ${listed}${others}.`, { param: 'tool_outputs' });
}
