/** Makes a core call of an Express request. */
import type { Request, Response } from 'express';
import { scopeOf } from '../core/api.ts';
import { type Call, headersFrom } from '../core/call.ts';
import { requestIdFrom } from '../core/ids.ts';

/** The tenant of a request, as the host knows it. */
export type Scope = (req: Request) => string;

/** A digest of the `Authorization` header; `anonymous` without one. */
export function scopeOfAuthorization(req: Request): string {
  return scopeOf({ get: (name) => req.get(name) ?? null });
}

/** The call, with a signal that is aborted when the client leaves before the answer is finished. */
export function callOf(req: Request, res: Response, scope: Scope): Call {
  const left = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) left.abort(new Error('The client left.'));
  });
  return {
    body: req.body,
    params: req.params,
    query: req.query,
    headers: headersFrom(req.headers),
    scope: scope(req),
    requestId: requestIdFrom(req.headers['x-request-id']),
    signal: left.signal,
    request: req,
    disconnect: () => res.destroy(),
  };
}
