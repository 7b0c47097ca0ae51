/** Anthropic's Messages API, with tools that the server runs, as an Express router. */

import type { Request } from 'express';
import { anthropicRoutes } from '../../server/messages-routes.ts';
import type { HostRequest } from './host-request.ts';
import { type DrainableRouter, type RouterOptions, routerKit } from './router.ts';

/**
 * `POST /messages`, `POST /messages/count_tokens` and `GET /models`, to be mounted at `/v1`, in front of any model
 * server. Passes requests and answers through unchanged where the upstream is `anthropicUpstream` and no tool of the
 * server is on offer. Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { chatCompletionsUpstream, messagesRouter } from 'express-open-responses';
 *
 * const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:8000/v1' });
 * express().use('/v1', messagesRouter({ upstream })).listen(3000);
 * ```
 */
export function messagesRouter<Req extends Request = HostRequest>(options: RouterOptions<Req> = {}): DrainableRouter {
  const { settings, serve } = routerKit('messagesRouter', options);
  return serve(anthropicRoutes(settings));
}
