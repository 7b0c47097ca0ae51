/** Reads a JSON body, or uses the one that the host has already parsed. */
import type { Request, RequestHandler } from 'express';
import { toApiError } from '../../protocol/errors.ts';
import { type BodyLimits, bodyErrors, isJsonType, isUnparsed, parseRead } from '../../server/requests/json-body.ts';
import { hasBytes, readJson } from '../node/node-body.ts';
import type { Scope } from './handle.ts';

const ADVICE = 'mount the router before it, or a parser such as express.json()';

/**
 * Works as `express.json` for bodies within the limits; a missing content type counts as JSON. `scope` is the host's, for the
 * tenant's share of the byte budget for bodies.
 */
export function readBody(limits: BodyLimits, scope: Scope | undefined): RequestHandler {
  return function readBody(req, _res, next) {
    const { headers, body } = req;
    if (!isJsonType(headers['content-type'], headers.origin)) return next(bodyErrors.otherType());
    if (isUnparsed(body)) {
      // What the host has read and not parsed.
      try {
        req.body = parseRead(body, limits);
      } catch (error) {
        return next(error);
      }
      return next();
    }
    if (hasBeenRead(req)) {
      // A mistake of the host's, which no client could mend: the log has it.
      const isLost = body === undefined && req.readableEnded && hasBytes(req);
      return next(
        isLost
          ? toApiError(new TypeError(`another handler has read the body and left no req.body; ${ADVICE}`))
          : undefined,
      );
    }
    readJson(req, limits, scope)
      .then(({ value }) => {
        req.body = value;
      })
      .then(next, next);
  };
}

/** As body-parser decides it: nothing was sent, or somebody has read it. */
function hasBeenRead(req: Request & { readonly _body?: boolean }): boolean {
  const { headers, socket, complete, readable, _body } = req;
  const isSent =
    headers['transfer-encoding'] !== undefined || !Number.isNaN(Number(headers['content-length'] ?? 'none'));
  // Adapters of platforms make requests without a connection.
  return !isSent || _body === true || !socket?.readable || (complete && !readable);
}
