/** The endpoints of the Chat Completions API as functions from a call to a reply, for any framework. */
import { type Activity, activity } from '../activity.ts';
import { answered, type Endpoint, modelsEndpoint } from '../endpoint.ts';
import { createChatCompletion } from './create.ts';
import type { ChatSettings } from './prepare-chat.ts';

/** Every endpoint, and what shuts them down. */
export interface ChatEndpoints {
  readonly create: Endpoint;
  readonly models: Endpoint;
  readonly drain: Activity['drain'];
}

/** The endpoints over these settings. */
export function chatEndpoints(settings: ChatSettings): ChatEndpoints {
  const turns = activity(settings.limits.concurrentTurns);
  return {
    create: answered((call) => createChatCompletion(call, settings, turns), settings),
    models: modelsEndpoint(settings),
    drain: turns.drain,
  };
}
