/** The routes of the Messages API, for any framework, and the count of a request's tokens. */
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { countInput } from '../../engine/tokens/count-input.ts';
import { beginTurn, withinTurn } from '../../engine/turn/lifetime.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import type { ModelApi } from '../endpoint/api.ts';
import { endpointFor, type Handler, passedHeaders } from '../endpoint/endpoint.ts';
import { ANTHROPIC, modelRoutes } from '../endpoint/models.ts';
import { noteReporter } from '../endpoint/prepare.ts';
import { createMessage } from './create.ts';
import { prepareMessages, toItemsRequest } from './prepare.ts';
import type { MessagesSettings } from './settings.ts';

/** The routes over these settings. */
export function messagesRoutes(settings: MessagesSettings): ModelApi {
  const { turns } = settings;
  const envelopeOf = () => ANTHROPIC;
  const on = (handler: Handler) => endpointFor(handler, { ...settings, envelopeOf });
  return {
    routes: [
      { method: 'POST', path: '/messages', endpoint: on((request) => createMessage(request, settings, turns)) },
      {
        method: 'POST',
        path: '/messages/count_tokens',
        endpoint: on((request) => countMessageTokens(request, settings, turns)),
      },
      ...modelRoutes(settings),
    ],
    async describe() {
      const { describeModels } = await import('../endpoint/models-description.ts');
      const { describeMessages } = await import('./description.ts');
      return [describeMessages(), describeModels()];
    },
    running: () => ({ inFlight: turns.running, background: 0, waiting: turns.waiting }),
    drain: (options) => turns.drain(options),
    envelopeOf,
  };
}

/** Counts the model's input, including the server's tools. Throws `ApiError` as `POST /v1/messages` does. Counts as a turn. */
async function countMessageTokens(
  apiRequest: EndpointRequest,
  settings: MessagesSettings,
  turns: Activity,
): Promise<JsonReply> {
  const life = beginTurn(apiRequest, settings.limits.durationMs, turns);
  const { signal } = life;
  try {
    return await withinTurn(life, async () => {
      const prepared = await prepareMessages({ ...apiRequest, signal }, settings, false);
      const { itemsRequest } = await toItemsRequest(prepared, settings);
      const request = await settings.pipeline.modelRequest(itemsRequest);
      const headers = passedHeaders(apiRequest);
      const call = { signal, headers, limits: settings.limits, note: noteReporter(apiRequest, settings) };
      return jsonReply({ input_tokens: await countInput(request, call, settings) });
    });
  } finally {
    life.leave();
  }
}
