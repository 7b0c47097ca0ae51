/** The endpoints of the Responses API as functions from a request to a reply, for any framework. */

import { conversationRoutes } from '../apis/conversations/endpoints.ts';
import { compactConversation } from '../apis/responses/compact.ts';
import { createResponse, prepareForBackground } from '../apis/responses/create.ts';
import { countInputTokens } from '../apis/responses/input-tokens.ts';
import { submitToolOutputs } from '../apis/responses/submit-tool-outputs.ts';
import { dropPending } from '../approvals/pending-call.ts';
import { cancel, createInBackground, replay, settled, wantsBackground } from '../background/endpoints.ts';
import { Followers } from '../background/followers.ts';
import { newRuns } from '../background/runs.ts';
import { wholeResource } from '../history/keep-turn.ts';
import { activity, DRAIN_MS, type DrainOptions } from '../ports/endpoints/activity.ts';
import { answered, type Handler, modelsEndpoint } from '../ports/endpoints/endpoint.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { page } from '../ports/endpoints/item-pages.ts';
import type { ApiRoutes, Route } from '../ports/endpoints/routes.ts';
import { fromStore, type StoredResponse } from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import { isResponseId, quotedId } from '../protocol/ids.ts';
import { jsonReply } from '../protocol/reply.ts';
import { queryPresenter } from '../protocol/tool-calls/kinds.ts';
import { type CoreSettings, settingsFor } from './options.ts';

/** The routes over these settings. */
export function responsesRoutes(settings: CoreSettings): ApiRoutes {
  const { store, limits } = settings;
  const turns = activity(limits.concurrentTurns);
  const runs = newRuns();
  const followers = new Followers(limits);
  const background = { turns, runs, followers };

  async function stored(apiRequest: EndpointRequest): Promise<StoredResponse> {
    const id = responseIdIn(apiRequest);
    const response = await fromStore(() => store.get({ scope: apiRequest.scope, id }));
    if (!response) throw notFound(id);
    return settled(response, limits.durationMs);
  }

  async function remove(apiRequest: EndpointRequest) {
    const { scope } = apiRequest;
    const id = responseIdIn(apiRequest);
    const known = await fromStore(() => store.get({ scope, id }));
    const run = runs.find({ scope, id });
    await run?.stop();
    if (run) runs.forget(run);
    if (!(await fromStore(() => store.delete({ scope, id })))) throw notFound(id);
    await dropPending(store, scope, known?.output ?? []);
    return jsonReply({ id, object: 'response', deleted: true });
  }

  async function retrieve(apiRequest: EndpointRequest) {
    const response = await stored(apiRequest);
    if (apiRequest.query.stream === 'true') return replay(apiRequest, response, background);
    return shown(apiRequest, response);
  }

  async function cancelled(apiRequest: EndpointRequest) {
    const response = await stored(apiRequest);
    const now = await cancel(response, runs.find(response), store);
    if (!now) throw notFound(response.id);
    return shown(apiRequest, now);
  }

  async function create(apiRequest: EndpointRequest) {
    const own = settingsFor(settings, apiRequest);
    if (!wantsBackground(apiRequest)) return createResponse(apiRequest, own, turns);
    return createInBackground(apiRequest, own, background, (request, life) => prepareForBackground(request, own, life));
  }

  async function submit(apiRequest: EndpointRequest) {
    if (!settings.dialectOf(apiRequest.request).submitsToolOutputs) throw noSubmission();
    return submitToolOutputs(apiRequest, settingsFor(settings, apiRequest), turns);
  }

  const on = (handler: Handler) => answered(handler, settings);
  const inputItems = on(async (apiRequest) => jsonReply(page((await stored(apiRequest)).input, apiRequest.query)));
  const routes: readonly Route[] = [
    { method: 'POST', path: '/responses', endpoint: on(create) },
    {
      method: 'POST',
      path: '/responses/compact',
      endpoint: on((apiRequest) => compactConversation(apiRequest, settings, turns)),
    },
    {
      method: 'POST',
      path: '/responses/input_tokens',
      endpoint: on((apiRequest) => countInputTokens(apiRequest, settings, turns)),
    },
    { method: 'GET', path: '/responses/:id', endpoint: on(retrieve) },
    { method: 'DELETE', path: '/responses/:id', endpoint: on(remove) },
    { method: 'GET', path: '/responses/:id/input_items', endpoint: inputItems },
    { method: 'POST', path: '/responses/:id/cancel', endpoint: on(cancelled) },
    ...conversationRoutes(settings),
    { method: 'POST', path: '/responses/:id/submit_tool_outputs', endpoint: on(submit) },
    { method: 'GET', path: '/models', endpoint: modelsEndpoint(settings) },
  ];

  /** Followers last: they may read the end of a turn. */
  async function drain(options: DrainOptions = {}): Promise<void> {
    const began = Date.now();
    await turns.drain(options);
    const timeoutMs = Math.max((options.timeoutMs ?? DRAIN_MS) - (Date.now() - began), 0);
    await followers.drain({ ...options, timeoutMs });
  }

  return { routes, drain };
}

function noSubmission(): ApiError {
  return new ApiError('not_found', 'Invalid URL: this server takes tool outputs as input of the next response.');
}

function responseIdIn({ params }: EndpointRequest): string {
  const id = String(params.id);
  if (!isResponseId(id)) throw notFound(id);
  return id;
}

function notFound(id: string): ApiError {
  return new ApiError('response_not_found', `Response with id ${quotedId(id)} not found.`, { param: 'response_id' });
}

function shown({ query }: EndpointRequest, response: StoredResponse) {
  return jsonReply(wholeResource({ ...response, output: response.output.map(queryPresenter(query)) }));
}
