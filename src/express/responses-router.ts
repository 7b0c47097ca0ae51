/** The Responses API as an Express router. */
import { type ErrorRequestHandler, Router } from 'express';
import type { DrainOptions } from '../core/activity.ts';
import { ApiError } from '../core/errors.ts';
import { type CoreOptions, coreChecks, coreSettings } from '../core/options.ts';
import { checkOptions } from '../core/options-check.ts';
import { type Endpoint, type ResponsesEndpoints, responsesEndpoints } from '../core/responses/endpoints.ts';
import { type Scope, scopeOfAuthorization } from './call-of.ts';
import { handle, run } from './handle.ts';
import { readBody } from './read-body.ts';

/** The shared options, and what only an Express app knows. */
export interface ResponsesRouterOptions extends CoreOptions {
  /** Whose responses a request may see, such as the user's id. Default: a digest of the `Authorization` header. */
  readonly scope?: Scope | undefined;
}

/** An Express router that can be shut down. */
export interface ResponsesRouter extends Router {
  /** Refuses new requests with 503 and resolves when every running response has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
}

/**
 * `POST /responses`, `GET` and `DELETE /responses/{id}`, `GET /responses/{id}/input_items` and `GET /models`, to be
 * mounted at any path. Throws a `TypeError` for an unknown option or a bad value.
 */
export function responsesRouter(options: ResponsesRouterOptions = {}): ResponsesRouter {
  checkOptions('responsesRouter', options, { ...coreChecks, scope: isFunction });
  const { scope = scopeOfAuthorization, ...core } = options;
  const settings = coreSettings('responsesRouter', core);
  const { create, retrieve, remove, inputItems, models, refuse, drain } = responsesEndpoints(settings);
  const on = (endpoint: Endpoint) => handle(endpoint, scope);
  const router = Router();
  router.post('/responses', readBody(settings.limits.bodyBytes), on(create));
  router.get('/responses/:id', on(retrieve));
  router.delete('/responses/:id', on(remove));
  router.get('/responses/:id/input_items', on(inputItems));
  router.get('/models', on(models));
  router.use(answerErrors(refuse));
  return Object.assign(router, { drain });
}

const isFunction = (value: unknown) => typeof value === 'function' || 'a function';

/** Answers what is wrong with a request before an endpoint sees it; the host's own errors go to the host's handler. */
function answerErrors(refuse: ResponsesEndpoints['refuse']): ErrorRequestHandler {
  return function answerErrors(error, req, res, next) {
    const shown = error instanceof URIError ? new ApiError('invalid_value', 'The path is not valid.') : error;
    if (!(shown instanceof ApiError)) return next(error);
    run(refuse(shown), req, res, next, () => '');
  };
}
