/** Reads a JSON body, or uses the one that the host has already parsed. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, RequestHandler } from 'express';
import { ApiError } from '../protocol/errors.ts';
import { refuseManyValues } from '../protocol/json/json-shape.ts';
import {
  type BodyLimits,
  bodyErrors,
  isJsonType,
  isUnparsed,
  isUtf8Type,
  parseBody,
  parseRead,
} from '../server/json-body.ts';
import { express } from './express.cjs';

/** Works as `express.json` for bodies within the limits; a missing content type counts as JSON. */
export function readBody(limits: BodyLimits): RequestHandler {
  const limit = limits.bodyBytes;
  const verify = (_req: IncomingMessage, _res: ServerResponse, bytes: Buffer) => refuse(bytes, limits);
  const json = express().json({ limit, strict: false, type: isJson, verify });
  return function readBody(req, res, next) {
    if (!isJson(req)) return next(bodyErrors.otherType());
    if (isUnparsed(req.body)) return parsed(req, limits, next);
    if (!isPlain(req, limit)) return json(req, res, (error) => next(error && bodyError(error)));
    bytesOf(req)
      .then((bytes) => {
        req.body = parseBody(bytes, limits);
      })
      .then(next, next);
  };
}

/** Parses what the host has read. */
function parsed(req: Request, limits: BodyLimits, next: NextFunction): void {
  try {
    req.body = parseRead(req.body, limits);
  } catch (error) {
    return next(error);
  }
  next();
}

function isJson({ headers }: IncomingMessage): boolean {
  return isJsonType(headers['content-type'], headers.origin);
}

/** Whether the bytes are plain JSON within the limit, and unread. `express.json` would read these too, at more cost. */
function isPlain(req: Request, limit: number): boolean {
  const { headers, body, readable, readableFlowing } = req;
  if (body !== undefined || !readable || readableFlowing !== null || 'content-encoding' in headers) return false;
  return Number(headers['content-length']) <= limit && isUtf8Type(headers['content-type'] ?? '');
}

function bytesOf(req: Request): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const cut = (cause?: unknown) => reject(bodyErrors.aborted(cause));
    const end = () => {
      // They would stay in memory until the answer has ended.
      req.off('error', cut).off('close', cut);
      resolve(Buffer.concat(pieces));
    };
    req
      .on('data', (piece: Buffer) => pieces.push(piece))
      .once('end', end)
      .once('error', cut)
      .once('close', cut);
  });
}

/** Makes another kind of error of it, because body-parser writes to the error it is given. */
function refuse(bytes: Buffer, limits: BodyLimits): void {
  try {
    refuseManyValues(bytes, limits);
  } catch (cause) {
    throw new Error('The body was refused.', { cause });
  }
}

function bodyError(error: unknown): unknown {
  if (error instanceof Error && error.cause instanceof ApiError) return error.cause;
  const status = error instanceof Error && 'status' in error ? error.status : undefined;
  if (status === 413) return bodyErrors.tooLarge();
  if (status === 415) return new ApiError('unsupported_media_type', (error as Error).message, { cause: error });
  return status === 400 ? bodyErrors.malformed(error) : error;
}
