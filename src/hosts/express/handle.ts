/** Runs an endpoint as an Express handler. */

import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Endpoint } from '../../apis/endpoint/endpoint.ts';
import { hasLeft, queryFrom } from '../../engine/request/endpoint-request.ts';
import { toApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import { discardRest } from '../node/discard-rest.ts';
import { type ScopeOf, setTurnContext, toEndpointRequest } from '../node/node-request.ts';
import { respond } from '../node/respond.ts';

/** Creates a handler for the endpoint. Errors that the endpoint may not answer go to the host's error handler. */
export function handle(endpoint: Endpoint, scope?: Scope): RequestHandler {
  return function endpointHandler(req, res, next) {
    answerRequest(endpoint, req, res, next, scope);
  };
}

/** Creates a handler for an endpoint of the router `owner` that reads the body itself. */
export function handleBytes(endpoint: Endpoint, owner: string, scope?: Scope): RequestHandler {
  return function bytesHandler(req, res, next) {
    // JSON that another handler has parsed is as good as its bytes.
    if (req.readableEnded && req.is('application/json') && isRecord(req.body))
      return answerRequest(endpoint, req, res, next, scope);
    if (req.readableEnded)
      return next(toApiError(new TypeError(`another handler has read the body already; mount ${owner} before it`)));
    discardRest(req, res);
    // Not destroyed by the end of the reading: the client must get its answer.
    const bytes = req.iterator({ destroyOnReturn: false });
    answerRequest((request) => endpoint({ ...request, bytes }), req, res, next, scope);
  };
}

/** Answers the request with the endpoint. */
export function answerRequest(
  endpoint: Endpoint,
  req: Request,
  res: Response,
  next: NextFunction,
  scope?: Scope,
): void {
  const { params, query: parsed = {}, url } = req;
  // An app may parse no query, or into an object without names of its own, such as a Map.
  const at = Object.keys(parsed).length > 0 ? -1 : url.indexOf('?');
  const query = at < 0 ? parsed : queryFrom(new URLSearchParams(url.slice(at + 1)));
  const request = { ...toEndpointRequest(req, res, scope), params, query };
  setTurnContext(res, { handled: true, ...request.context });
  endpoint(request)
    .then(
      (reply) => respond(res, reply),
      // The client has gone, so there is nobody to answer.
      (error) => (hasLeft(request.signal) || res.destroyed ? undefined : next(error)),
    )
    // Express 4 does not see rejections.
    .catch(next);
}

/** Returns the tenant of a request, as the host knows it. */
export type Scope<Req extends Request = Request> = ScopeOf<Req>;
