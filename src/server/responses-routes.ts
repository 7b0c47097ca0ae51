/** The endpoints of the Responses API as routes, for any framework. */

import { conversationRoutes } from '../apis/conversations/endpoints.ts';
import type { ModelApi } from '../apis/endpoint/api.ts';
import { embeddingRoutes } from '../apis/endpoint/embeddings.ts';
import { endpointFor, type Handler } from '../apis/endpoint/endpoint.ts';
import { modelRoutes } from '../apis/endpoint/models.ts';
import type { Route } from '../apis/endpoint/routes.ts';
import { compactConversation } from '../apis/responses/compact.ts';
import { countInputTokens } from '../apis/responses/input-tokens.ts';
import type { CoreSettings } from './options/core-settings.ts';
import { ResponsesEndpoints } from './responses-endpoints.ts';

/** The routes over these settings. */
export function responsesRoutes(settings: CoreSettings): ModelApi {
  const endpoints = new ResponsesEndpoints(settings);
  const { turns } = endpoints;
  const on = (handler: Handler) => endpointFor(handler, settings);
  const routes: readonly Route[] = [
    { method: 'POST', path: '/responses', endpoint: on((request) => endpoints.create(request)) },
    {
      method: 'POST',
      path: '/responses/compact',
      endpoint: on((request) => compactConversation(request, settings, turns)),
    },
    {
      method: 'POST',
      path: '/responses/input_tokens',
      endpoint: on((request) => countInputTokens(request, settings, turns)),
    },
    { method: 'GET', path: '/responses/:id', endpoint: on((request) => endpoints.retrieve(request)) },
    { method: 'DELETE', path: '/responses/:id', endpoint: on((request) => endpoints.remove(request)) },
    { method: 'GET', path: '/responses/:id/input_items', endpoint: on((request) => endpoints.inputItems(request)) },
    { method: 'POST', path: '/responses/:id/cancel', endpoint: on((request) => endpoints.cancel(request)) },
    ...conversationRoutes(settings),
    {
      method: 'POST',
      path: '/responses/:id/submit_tool_outputs',
      endpoint: on((request) => endpoints.submit(request)),
    },
    ...modelRoutes(settings),
  ];
  return {
    routes,
    inner: embeddingRoutes(settings, turns),
    describe,
    running: () => endpoints.running,
    drain: (options) => endpoints.drain(options),
  };
}

async function describe() {
  const { describeConversations } = await import('../apis/conversations/description.ts');
  const { describeModels } = await import('../apis/endpoint/models-description.ts');
  const { describeResponses } = await import('../apis/responses/description.ts');
  return [describeResponses(), describeConversations(), describeModels()];
}
