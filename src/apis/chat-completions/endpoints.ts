/** The routes of the Chat Completions API, for any framework. */

import type { ModelApi } from '../endpoint/api.ts';
import { embeddingRoutes } from '../endpoint/embeddings.ts';
import { endpointFor } from '../endpoint/endpoint.ts';
import { modelRoutes } from '../endpoint/models.ts';
import type { ChatSettings } from './chat-request.ts';
import { createChatCompletion } from './create.ts';
import { storedRoutes } from './stored/stored-endpoints.ts';

/** The routes over these settings. */
export function chatRoutes(settings: ChatSettings): ModelApi {
  const { turns } = settings;
  const create = endpointFor((request) => createChatCompletion(request, settings, turns), settings);
  return {
    routes: [
      { method: 'POST', path: '/chat/completions', endpoint: create },
      ...storedRoutes(settings),
      ...modelRoutes(settings),
    ],
    inner: embeddingRoutes(settings, turns),
    async describe() {
      const { describeModels } = await import('../endpoint/models-description.ts');
      const { describeChat } = await import('./description.ts');
      return [describeChat(), describeModels()];
    },
    running: () => ({ inFlight: turns.running, background: 0, waiting: turns.waiting }),
    drain: (options) => turns.drain(options),
  };
}
