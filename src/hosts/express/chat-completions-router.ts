/** The Chat Completions API, with tools that the server runs, as an Express router. */

import type { Request } from 'express';
import { chatRoutes } from '../../apis/chat-completions/endpoints.ts';
import { requireChatSettings } from '../../server/chat-settings.ts';
import type { HostRequest } from './host-request.ts';
import { type DrainableRouter, type RouterOptions, routerKit } from './router.ts';

/**
 * `POST /chat/completions` and `GET /models`, to be mounted at any path. Passes the model server's chunks to the client
 * byte for byte, except in rounds that call a tool of the server. Throws a `TypeError` for an unknown option, a
 * bad value, or an upstream without Chat Completions.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { chatCompletionsRouter, functionTools } from 'express-open-responses';
 *
 * const tools = functionTools({ now: { description: 'The current time.', execute: () => new Date().toISOString() } });
 * express().use('/v1', chatCompletionsRouter({ tools })).listen(3000);
 * ```
 */
export function chatCompletionsRouter<Req extends Request = HostRequest>(
  options: RouterOptions<Req> = {},
): DrainableRouter {
  const { settings, serve } = routerKit('chatCompletionsRouter', options);
  return serve(chatRoutes(requireChatSettings('chatCompletionsRouter', settings)));
}
