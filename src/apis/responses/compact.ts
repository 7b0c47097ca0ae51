/** `POST /responses/compact`: takes a conversation and returns a shorter one to continue with. */

import { collectSummary, type Summarised } from '../../engine/compaction/summarise.ts';
import { isUserMessage, pendingStart } from '../../engine/compaction/window.ts';
import { guardedUpstream } from '../../engine/guarding/guarded-upstream.ts';
import { withBudget } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, withinTurn } from '../../engine/turn/lifetime.ts';
import { attemptReporter, notify } from '../../ports/hooks.ts';
import { requireTenant } from '../../ports/scope.ts';
import { outputItemId, responseId } from '../../protocol/ids.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, unixSeconds, withHeaders } from '../../protocol/reply.ts';
import { inputItems } from '../../protocol/responses/input-items.ts';
import { wholeItem } from '../../protocol/responses/whole-item.ts';
import { passedHeaders } from '../endpoint/endpoint.ts';
import { noteReporter } from '../endpoint/prepare.ts';
import { prepareConversation } from './pipeline.ts';
import { modelRequest } from './steps/to-model-request.ts';
import { planTools } from './steps/tools/plan-tools.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';

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
  requireTenant(request.scope, 'Compaction', null);
  const life = beginTurn(request, settings.limits.durationMs, turns);
  const { signal } = life;
  const { body } = request;
  const read = isRecord(body) ? Object.fromEntries(FIELDS.map((field) => [field, body[field]])) : body;
  try {
    return await withinTurn(life, async () => {
      const { settings: charged, headers } = await withBudget(request, settings, life);
      return withHeaders(jsonReply(await compactedResource({ ...request, body: read, signal }, charged)), headers);
    });
  } finally {
    life.leave();
  }
}

async function compactedResource(request: EndpointRequest, settings: ResponsesApiSettings): Promise<JsonObject> {
  const { requestId, scope } = request;
  const prepared = await prepareConversation(request, settings);
  const { seed, body, window } = prepared;
  const createdAt = Date.now();
  const info = { requestId, responseId: responseId(seed), scope, model: body.model, stream: false, background: false };
  notify(settings.hooks, 'onRequest', info);
  // The user's messages stay verbatim: the summary is the model's, and may have missed something.
  const messages = window.items
    .slice(0, pendingStart(window.items))
    .filter((item) => isUserMessage(item) && item !== window.summary);
  // Open Responses requires the detail of each image.
  const retained = inputItems(messages, seed).map(wholeItem);
  const { usage, cost, encrypted } = await summaryFor(prepared, retained.length, request, settings);
  const ended = { status: 'completed', usage, durationMs: Date.now() - createdAt } as const;
  notify(settings.hooks, 'onResponse', { ...info, ...ended, ...(cost === undefined ? {} : { cost }) });
  const id = outputItemId('cmp', seed, retained.length);
  return {
    id: info.responseId,
    object: 'response.compaction',
    created_at: unixSeconds(createdAt),
    output: [...retained, { id, type: 'compaction', encrypted_content: encrypted }],
    usage,
  };
}

function summaryFor(
  { body, window, guards }: Awaited<ReturnType<typeof prepareConversation>>,
  retained: number,
  apiRequest: EndpointRequest,
  settings: ResponsesApiSettings,
): Promise<Summarised> {
  const { scope, signal, requestId } = apiRequest;
  const note = noteReporter(apiRequest, settings);
  const onAttempt = attemptReporter(requestId, settings.hooks);
  const call = { signal, headers: passedHeaders(apiRequest), limits: settings.limits, note, onAttempt };
  const request = modelRequest(body, [], planTools({ tools: [], choice: undefined }, new Map(), note));
  const upstream = guards?.guardsOutput
    ? guardedUpstream(settings.upstream, guards, () => () => true)
    : settings.upstream;
  return collectSummary({ request, items: window.items, retained, scope, call }, { ...settings, upstream });
}
