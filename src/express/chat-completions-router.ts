/** The Chat Completions API, with tools that the server runs, as an Express router. */

import { chatRoutes } from '../apis/chat-completions/endpoints.ts';
import { chatSettingsOf } from '../server/api.ts';
import { type DrainableRouter, type RouterOptions, routerKit } from './router.ts';

/**
 * `POST /chat/completions` and `GET /models`, to be mounted at any path. The model server's chunks go to the client byte
 * for byte, but for the rounds in which it calls a tool of the server's. Throws a `TypeError` for an unknown option, a
 * bad value, or an upstream that does not speak Chat Completions.
 */
export function chatCompletionsRouter(options: RouterOptions = {}): DrainableRouter {
  const { settings, serve } = routerKit('chatCompletionsRouter', options);
  return serve(chatRoutes(chatSettingsOf('chatCompletionsRouter', settings)));
}
