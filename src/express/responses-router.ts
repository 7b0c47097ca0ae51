/** The Responses API as an Express router. */
import { responsesEndpoints } from '../core/responses/endpoints.ts';
import { type DrainableRouter, type RouterOptions, routerKit } from './router.ts';

/**
 * `POST /responses`, `GET` and `DELETE /responses/{id}`, `GET /responses/{id}/input_items` and `GET /models`, to be
 * mounted at any path. Throws a `TypeError` for an unknown option or a bad value.
 */
export function responsesRouter(options: RouterOptions = {}): DrainableRouter {
  const { router, settings, on, body, finish } = routerKit('responsesRouter', options);
  const { create, retrieve, remove, inputItems, models, drain } = responsesEndpoints(settings);
  router.post('/responses', body, on(create));
  router.get('/responses/:id', on(retrieve));
  router.delete('/responses/:id', on(remove));
  router.get('/responses/:id/input_items', on(inputItems));
  router.get('/models', on(models));
  return finish(drain);
}
