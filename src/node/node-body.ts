/** Reads and replaces the body of a Node request as its framework would. */
import type { ServerResponse } from 'node:http';
import { headersFrom } from '../ports/endpoints/endpoint-request.ts';
import { type BodyLimits, isJsonType, readJson } from '../server/json-body.ts';
import type { NodeRequest } from './node-request.ts';

/**
 * The parsed body; read here, within the limits, if no parser has. Undefined for a request without a JSON body, which
 * stays unchanged. Throws `ApiError`.
 */
export async function bodyOf(req: NodeRequest, limits: BodyLimits): Promise<unknown> {
  const isJson = req.method === 'POST' && isJsonType(req.headers['content-type'], req.headers.origin);
  if (!isJson || (req.body !== undefined && !isPlaceholder(req))) return req.body;
  if (req.readableEnded) return undefined;
  const body = await readJson(req, headersFrom(req.headers), limits);
  replaceBody(req, body);
  // The body is decoded now. Proxies that write the body again need its type.
  delete req.headers['content-encoding'];
  req.headers['content-type'] ??= 'application/json';
  return body;
}

/** Parsers of body-parser 1, such as `express.urlencoded` of Express 4, set `{}` for a body of another type, and leave it unread. */
function isPlaceholder(req: NodeRequest & { _body?: boolean }): boolean {
  const { body, headers } = req;
  const isEmpty = typeof body === 'object' && body !== null && Object.keys(body).length === 0;
  const hasBytes = Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined;
  return isEmpty && hasBytes && req._body !== true && !req.readableDidRead;
}

/** Replaces the request's body; its framing in the headers is then wrong, and proxies would pass it on beside their own. */
export function replaceBody(req: NodeRequest & { _body?: boolean }, body: unknown): void {
  req.body = body;
  delete req.headers['content-length'];
  delete req.headers['transfer-encoding'];
  // body-parser 1 checks this before it reads the stream.
  req._body = true;
}

/** The value of a header, wherever it was set: `writeHead` hides its own from `getHeader` (nodejs/node#10354). */
export function headerIn(res: ServerResponse, given: readonly unknown[], name: string): string | undefined {
  const headers = given.at(-1);
  const found = Array.isArray(headers) ? inList(headers, name) : inObject(headers, name);
  const value = found ?? res.getHeader(name);
  return value === undefined || value === null ? undefined : String(value);
}

/** Headers as pairs, or as alternating names and values. */
function inList(list: readonly unknown[], name: string): unknown {
  const flat = list.flat();
  const index = flat.findIndex((each, at) => at % 2 === 0 && String(each).toLowerCase() === name);
  return index < 0 ? undefined : flat[index + 1];
}

function inObject(headers: unknown, name: string): unknown {
  if (typeof headers !== 'object' || headers === null) return undefined;
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}
