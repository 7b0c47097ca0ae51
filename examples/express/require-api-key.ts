/** The example's own authentication, as a host has one: bearer tokens. */
import { createHash } from 'node:crypto';
import type { RequestHandler } from 'express';

/** Lets in who sends one of the keys as a bearer token, or everyone where there are no keys. */
export function requireApiKey(keys: readonly string[]): RequestHandler {
  // Digests: comparing the keys themselves would tell by its timing how much of one was right.
  const known = new Set(keys.map(digest));
  return function requireApiKey(req, res, next) {
    const token = /^Bearer +(\S+)$/i.exec(req.headers.authorization ?? '')?.[1];
    if (known.size === 0 || (token && known.has(digest(token)))) return next();
    res.status(401).set('www-authenticate', 'Bearer').json({ error: refusal });
  };
}

/** In OpenAI's envelope, so that its SDKs show the message. */
const refusal = {
  message: 'Incorrect API key provided.',
  type: 'invalid_request_error',
  param: null,
  code: 'invalid_api_key',
};

function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64');
}
