/** The Responses API as an Express router. */
import type { Request } from 'express';
import { responsesRoutes } from '../../server/responses-routes.ts';
import type { HostRequest } from './host-request.ts';
import { type DrainableRouter, type RouterOptions, routerKit } from './router.ts';

/**
 * `POST /responses`, `GET` and `DELETE /responses/{id}`, `GET /responses/{id}/input_items`, `/conversations` with their
 * items, and `GET /models`, to be mounted at any path. Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 *
 * const upstream = chatCompletionsUpstream({ baseURL: 'http://127.0.0.1:8000/v1' });
 * express().use('/v1', responsesRouter({ upstream })).listen(3000);
 * ```
 */
export function responsesRouter<Req extends Request = HostRequest>(options: RouterOptions<Req> = {}): DrainableRouter {
  const { settings, serve } = routerKit('responsesRouter', options);
  return serve(responsesRoutes(settings));
}
