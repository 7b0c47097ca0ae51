/** The Messages API over the steps of the Responses API, whose items can hold everything that its messages do. */

import { openai } from '../apis/dialects/dialects.ts';
import type { ModelApi } from '../apis/endpoint/api.ts';
import { messagesRoutes } from '../apis/messages/endpoints.ts';
import { prepareRequest } from '../apis/responses/pipeline.ts';
import { prepareTurn } from '../apis/responses/prepare-turn.ts';
import { injectServerTools } from '../apis/responses/steps/tools/inject-tools.ts';
import { countedRequest } from '../engine/guarding/request/guarded-body.ts';
import type { EndpointRequest } from '../engine/request/endpoint-request.ts';
import type { Lifetime } from '../engine/turn/lifetime.ts';
import type { Upstream } from '../ports/upstream.ts';
import type { CoreSettings } from './options/core-settings.ts';

/** The routes over these settings. */
export function anthropicRoutes(settings: CoreSettings): ModelApi {
  const own: CoreSettings = {
    ...settings,
    mcpItems: 'mcp_call',
    reasoning: 'summary',
    queuedEvent: false,
    listsTools: false,
    dialectOf: () => openai,
  };
  const pipeline = {
    injectTools: injectServerTools,
    prepareTurn: (request: EndpointRequest, life: Lifetime, upstream: Upstream) =>
      prepareTurn(request, { ...own, upstream }, life),
    modelRequest: async (apiRequest: EndpointRequest) => {
      const { request, guards } = await prepareRequest(apiRequest, own);
      return countedRequest(request, guards);
    },
  };
  return messagesRoutes({ ...own, pipeline });
}
