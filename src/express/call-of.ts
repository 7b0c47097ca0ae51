/** Makes a core call of an Express request. */
import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Call } from '../core/call.ts';
import { randomSeed } from '../core/ids.ts';

/** The tenant of a request, as the host knows it. */
export type Scope = (req: Request) => string;

/** A digest of the `Authorization` header; `anonymous` without one. */
export function scopeOfAuthorization(req: Request): string {
  const { authorization } = req.headers;
  return authorization ? createHash('sha256').update(authorization).digest('base64url') : 'anonymous';
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
    headers: headersOf(req),
    scope: scope(req),
    requestId: requestIdOf(req),
    signal: left.signal,
    request: req,
    disconnect: () => res.destroy(),
  };
}

function headersOf(req: Request): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return headers;
}

/** The client's own id where it is fit for a header, else a new one. */
export function requestIdOf(req: Request): string {
  const given = req.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : `req_${randomSeed()}`;
}
