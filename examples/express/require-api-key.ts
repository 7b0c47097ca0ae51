/** The example's own authentication, in place of your app's: bearer tokens, or the header of Anthropic's clients. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';

/** Whether a request is allowed, over HTTP or as a WebSocket's upgrade. */
export type IsAllowed = (request: IncomingMessage) => boolean;

/** Allows requests with one of the keys as a bearer token or as `x-api-key`, or all requests if there are no keys. */
export function keyCheck(keys: readonly string[]): IsAllowed {
  // Digests: comparing the keys themselves would reveal by its timing how much of one was right.
  const known = new Set(keys.map(digest));
  return ({ headers }) => {
    const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    return (
      known.size === 0 ||
      [token, headers['x-api-key']].some((key) => key !== undefined && known.has(digest(String(key))))
    );
  };
}

/** The same as a middleware. */
export function requireApiKey(keys: readonly string[]): RequestHandler {
  const isAllowed = keyCheck(keys);
  return function requireApiKey(req, res, next) {
    if (isAllowed(req)) return next();
    res.status(401).set('www-authenticate', 'Bearer').json({ error: refusal });
  };
}

/** In OpenAI's envelope, so that its SDKs show the message. */
export const refusal = {
  message: 'Incorrect API key provided.',
  type: 'invalid_request_error',
  param: null,
  code: 'invalid_api_key',
};

function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64');
}
