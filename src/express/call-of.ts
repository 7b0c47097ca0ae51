/** Makes a core call of an Express request. */
import type { Request, Response } from 'express';
import { nodeCall, type ScopeOf } from '../node/node-call.ts';
import type { EndpointRequest } from '../ports/api-request.ts';

/** The tenant of a request, as the host knows it. */
export type Scope = ScopeOf<Request>;

/** The call, with what Express has read from the URL. */
export function callOf(req: Request, res: Response, scope?: Scope): EndpointRequest {
  return { ...nodeCall(req, res, scope), params: req.params, query: req.query };
}
