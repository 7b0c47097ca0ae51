/** Reads a JSON body, or takes the one that the host has already parsed. */
import express, { type RequestHandler } from 'express';
import { ApiError } from '../core/errors.ts';

/** `express.json` for bodies up to `limit` bytes; a missing content type counts as JSON. */
export function readBody(limit: number): RequestHandler {
  const json = express.json({ limit, strict: false, type: isJson });
  return function readBody(req, res, next) {
    if (!isJson(req)) return next(new ApiError('unsupported_media_type', 'The request body must be application/json.'));
    json(req, res, (error) => next(error && bodyError(error)));
  };
}

/** Other types are refused: a browser sends them across origins without asking first. */
function isJson({ headers }: { headers: { 'content-type'?: string | undefined } }): boolean {
  const type = headers['content-type'];
  return type === undefined || /^[\w.-]+\/([\w.-]+\+)?json\b/i.test(type);
}

function bodyError(error: unknown): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status === 413) return new ApiError('request_too_large', 'The request body is larger than this server takes.');
  if (status === 415) return new ApiError('unsupported_media_type', (error as Error).message, { cause: error });
  const message = 'We could not parse the JSON body of your request.';
  return status === 400 ? new ApiError('invalid_json', message, { cause: error }) : error;
}
