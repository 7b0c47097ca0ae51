/** The routes of the Messages API, for any framework. */

import { activity } from '../../ports/endpoints/activity.ts';
import { answered, type Handler } from '../../ports/endpoints/endpoint.ts';
import { ANTHROPIC, modelEndpoint, modelsEndpoint } from '../../ports/endpoints/models.ts';
import type { ApiRoutes } from '../../ports/endpoints/routes.ts';
import { countMessageTokens } from './count-tokens.ts';
import { createMessage } from './create.ts';
import type { MessagesSettings } from './settings.ts';

/** The routes over these settings. */
export function messagesRoutes(settings: MessagesSettings): ApiRoutes {
  const turns = activity(settings.limits);
  const envelopeOf = () => ANTHROPIC;
  const on = (handler: Handler) => answered(handler, { ...settings, envelopeOf });
  return {
    routes: [
      { method: 'POST', path: '/messages', endpoint: on((request) => createMessage(request, settings, turns)) },
      {
        method: 'POST',
        path: '/messages/count_tokens',
        endpoint: on((request) => countMessageTokens(request, settings, turns)),
      },
      { method: 'GET', path: '/models', endpoint: modelsEndpoint(settings) },
      { method: 'GET', path: '/models/:id', endpoint: modelEndpoint(settings) },
    ],
    running: () => ({ inFlight: turns.running, background: 0, waiting: turns.waiting }),
    drain: (options) => turns.drain(options),
    envelopeOf,
  };
}
