/** Routes as an Express router, and error handling. */
import type { ErrorRequestHandler, Router } from 'express';
import { type EndpointSettings, refusalEndpoint } from '../../apis/endpoint/endpoint.ts';
import type { Route } from '../../apis/endpoint/routes.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { PlainSettings } from '../../server/options/plain-api.ts';
import type { ReportedRoutes } from '../../server/reported-routes.ts';
import { discardRest } from '../node/discard-rest.ts';
import { express } from './express.cjs';
import { answerRequest, handle, handleBytes, type Scope } from './handle.ts';
import { readBody } from './read-body.ts';

/** The router of an API that calls no model; `scope` is the host's. */
export function plainRouter({ routes, settings }: ReportedRoutes, scope: Scope<never> | undefined): Router {
  // The cast: the host states what its earlier handlers make of a request.
  return createRouter(routes, settings, scope as Scope | undefined);
}

type ServingSettings = EndpointSettings & Pick<PlainSettings, 'limits' | 'owner'>;

/** An Express router of the routes; their steps are reported already. */
export function createRouter(routes: readonly Route[], settings: ServingSettings, scope: Scope | undefined): Router {
  const body = readBody(settings.limits, scope);
  const router = express().Router();
  for (const { method, path, endpoint, readsBytes } of routes) {
    if (readsBytes) router.post(path, handleBytes(endpoint, settings.owner, scope));
    else if (method === 'POST') router.post(path, body, handle(endpoint, scope));
    else if (method === 'GET') router.get(path, handle(endpoint, scope));
    else router.delete(path, handle(endpoint, scope));
  }
  return router.use(answerErrors(settings));
}

/** Answers request errors found before an endpoint runs; the host's own errors go to the host's handler. */
function answerErrors(settings: EndpointSettings): ErrorRequestHandler {
  return function answerErrors(error, req, res, next) {
    const apiError = error instanceof URIError ? new ApiError('invalid_value', 'The path is not valid.') : error;
    if (!(apiError instanceof ApiError)) return next(error);
    if (!req.readableEnded) discardRest(req, res);
    answerRequest(refusalEndpoint(apiError, settings), req, res, next, () => '');
  };
}
