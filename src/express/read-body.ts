/** Reads a JSON body, or takes the one that the host has already parsed. */
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler } from 'express';
import { ApiError } from '../core/errors.ts';
import { bodyErrors, isJsonType } from '../core/json-body.ts';

/** `express.json` for bodies up to `limit` bytes; a missing content type counts as JSON. */
export function readBody(limit: number): RequestHandler {
  const json = express.json({ limit, strict: false, type: isJson });
  return function readBody(req, res, next) {
    if (!isJson(req)) return next(bodyErrors.otherType());
    json(req, res, (error) => next(error && bodyError(error)));
  };
}

function isJson({ headers }: IncomingMessage): boolean {
  return isJsonType(headers['content-type'], headers.origin);
}

function bodyError(error: unknown): unknown {
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status === 413) return bodyErrors.tooLarge();
  if (status === 415) return new ApiError('unsupported_media_type', (error as Error).message, { cause: error });
  return status === 400 ? bodyErrors.malformed(error) : error;
}
