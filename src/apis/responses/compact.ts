/** `POST /responses/compact`: takes a conversation and returns a shorter one to continue with. */

import { type Summarised, summaryOf } from '../../engine/compaction/summarise.ts';
import { isUsers, pendingFrom } from '../../engine/compaction/window.ts';
import { guardedUpstream } from '../../engine/guarding/guarded-upstream.ts';
import { budgeted } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn } from '../../engine/turn/lifetime.ts';
import { attemptsOf, notify, type RequestInfo } from '../../ports/hooks.ts';
import { needTenant } from '../../ports/scope.ts';
import { outputItemId, responseId } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { isPromise, isRecord, type JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, withHeaders } from '../../protocol/reply.ts';
import { inputItems } from '../../protocol/responses/input-items.ts';
import { passedHeaders } from '../endpoint/endpoint.ts';
import { noteOf } from '../endpoint/prepare.ts';
import { prepareConversation } from './pipeline.ts';
import type { ResponsesApiSettings } from './settings.ts';
import { planTools } from './steps/plan-tools.ts';
import type { RequestInWindow } from './steps/request.ts';
import { modelRequest } from './steps/to-model-request.ts';

/** The fields of a body that are read; the settings of an answer have no effect here. */
const FIELDS = [
  ...['model', 'input', 'previous_response_id', 'instructions', 'service_tier'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention'],
];

/** Answers one request with one model call. Throws `ApiError`. */
export async function compactConversation(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<JsonReply> {
  needTenant(request.scope, 'Compaction', null);
  const life = beginTurn(request, settings.limits.durationMs, turns);
  const { signal, place, leave } = life;
  try {
    if (place) await place;
    const given = budgeted(request, settings, life);
    const { settings: own, headers } = isPromise(given) ? await given : given;
    return withHeaders(jsonReply(await compaction({ ...request, body: modelIn(request.body), signal }, own)), headers);
  } finally {
    leave();
  }
}

function modelIn(body: unknown): unknown {
  return isRecord(body) ? Object.fromEntries(FIELDS.map((field) => [field, body[field]])) : body;
}

async function compaction(request: EndpointRequest, settings: ResponsesApiSettings): Promise<JsonObject> {
  const prepared = await prepareConversation(request, settings);
  const createdAt = Date.now();
  const info = infoOf(request, prepared);
  notify(settings.hooks, 'onRequest', info);
  const retained = retainedIn(prepared);
  const done = await summary(prepared, retained.length, request, settings);
  notify(settings.hooks, 'onResponse', {
    ...info,
    status: 'completed',
    usage: done.usage,
    ...(done.cost === undefined ? {} : { cost: done.cost }),
    durationMs: Date.now() - createdAt,
  });
  const id = outputItemId('cmp', prepared.seed, retained.length);
  return {
    id: info.responseId,
    object: 'response.compaction',
    created_at: Math.floor(createdAt / 1000),
    output: [...retained, { id, type: 'compaction', encrypted_content: done.encrypted }],
    usage: done.usage,
  };
}

function infoOf({ requestId, scope }: EndpointRequest, { seed, body }: RequestInWindow): RequestInfo {
  return { requestId, responseId: responseId(seed), scope, model: body.model, stream: false, background: false };
}

function summary(
  { body, window, guards }: RequestInWindow,
  retained: number,
  apiRequest: EndpointRequest,
  settings: ResponsesApiSettings,
): Promise<Summarised> {
  const note = noteOf(apiRequest, settings);
  const onAttempt = attemptsOf(apiRequest.requestId, settings.hooks);
  const headers = passedHeaders(apiRequest);
  const modelCall = { signal: apiRequest.signal, headers, limits: settings.limits, note, onAttempt };
  const request = modelRequest(body, [], planTools({ tools: [], choice: undefined }, new Map(), note));
  const upstream = guards?.guardsOutput
    ? guardedUpstream(settings.upstream, guards, () => () => true)
    : settings.upstream;
  const plan = { request, items: window.items, retained, scope: apiRequest.scope, call: modelCall };
  return summaryOf(plan, { ...settings, upstream });
}

/** The user's messages, verbatim: the summary is the model's, and may have missed something. */
function retainedIn({ window: { items, summary: earlier }, seed }: RequestInWindow): readonly Item[] {
  const kept = items.slice(0, pendingFrom(items)).filter((item) => isUsers(item) && item !== earlier);
  return inputItems(kept, seed).map(withDetails);
}

/** Open Responses requires the detail of each image; `auto` is the meaning of its absence. */
function withDetails(message: Item): Item {
  const { content } = message;
  if (!Array.isArray(content) || !content.some(isPlainImage)) return message;
  return { ...message, content: content.map((part) => (isPlainImage(part) ? { ...part, detail: 'auto' } : part)) };
}

function isPlainImage(part: unknown): part is JsonObject {
  return isRecord(part) && part.type === 'input_image' && (part.detail === undefined || part.detail === null);
}
