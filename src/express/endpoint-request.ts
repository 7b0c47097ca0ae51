/** Makes an API request of an Express request. */
import type { Request, Response } from 'express';
import { endpointRequestOfNode, type ScopeOf } from '../node/node-request.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';

/** Returns the tenant of a request, as the host knows it. */
export type Scope = ScopeOf<Request>;

/** The request, with what Express has read from the URL. */
export function endpointRequestOf(req: Request, res: Response, scope?: Scope): EndpointRequest {
  return { ...endpointRequestOfNode(req, res, scope), params: req.params, query: req.query };
}
