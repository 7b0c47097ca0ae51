/** Makes a core call of an Express request. */
import type { Request, Response } from 'express';
import { endpointRequestOfNode, type ScopeOf } from '../node/node-request.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';

/** The tenant of a request, as the host knows it. */
export type Scope = ScopeOf<Request>;

/** The call, with what Express has read from the URL. */
export function endpointRequestOf(req: Request, res: Response, scope?: Scope): EndpointRequest {
  return { ...endpointRequestOfNode(req, res, scope), params: req.params, query: req.query };
}
