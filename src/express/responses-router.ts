/** The Responses API as an Express router. */
import type { Request } from 'express';
import { responsesRoutes } from '../server/responses-routes.ts';
import { type DrainableRouter, type RouterOptions, routerKit } from './router.ts';

/**
 * `POST /responses`, `GET` and `DELETE /responses/{id}`, `GET /responses/{id}/input_items`, `/conversations` with their
 * items, and `GET /models`, to be mounted at any path. Throws a `TypeError` for an unknown option or a bad value.
 */
export function responsesRouter<Req extends Request = Request>(options: RouterOptions<Req> = {}): DrainableRouter {
  const { settings, serve } = routerKit('responsesRouter', options);
  return serve(responsesRoutes(settings));
}
