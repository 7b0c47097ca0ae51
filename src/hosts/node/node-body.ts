/** Reads and replaces the body of a Node request as its framework would. */
import type { ServerResponse } from 'node:http';
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import {
  ArrivingBody,
  type BodyLimits,
  bodyErrors,
  isJsonType,
  isUtf8Type,
  parseBody,
  type WholeJson,
} from '../../server/requests/json-body.ts';
import { headerReader, type NodeRequest, remember, type ScopeOf, shareOfNode } from './node-request.ts';

/**
 * The parsed body; read here, within the limits, if no parser has. Undefined for a request without a JSON body, which
 * stays unchanged. `scope` is the host's, for the tenant's share of the byte budget for bodies. Throws `ApiError`.
 */
export async function requestBody(
  req: NodeRequest,
  limits: BodyLimits,
  scope?: ScopeOf<NodeRequest>,
): Promise<unknown> {
  const isJson = req.method === 'POST' && isJsonType(req.headers['content-type'], req.headers.origin);
  if (!isJson || (req.body !== undefined && !isPlaceholder(req))) return req.body;
  if (req.readableEnded) return undefined;
  return readUnparsedBody(req, limits, scope);
}

/** A body that has been read, whatever the method of its request. */
interface WholeBody {
  /** The parsed JSON. */
  readonly value: unknown;
  /** Puts another value in its place, in the form in which the host's parser left the body: parsed, as text or as bytes. */
  readonly replace: (value: unknown) => void;
}

/**
 * The body of a request that may not pass unread; undefined for a request without a body. Throws `unsupported_media_type`
 * for a body that is not JSON by its type, or that something else has read, and the errors of reading it.
 */
export async function readWholeBody(
  req: NodeRequest,
  limits: BodyLimits,
  scope?: ScopeOf<NodeRequest>,
): Promise<WholeBody | undefined> {
  const { body } = req;
  const isMissing = body === undefined || body === null || isPlaceholder(req);
  if (!hasBytes(req) && (isMissing || isEmptyObject(body))) return undefined;
  const { 'content-type': type, origin } = req.headers;
  if (!isJsonType(type, origin)) throw bodyErrors.otherType();
  const replace = (value: unknown) => replaceBody(req, value);
  if (isMissing) {
    if (req.readableDidRead) throw bodyErrors.otherType();
    return { value: await readUnparsedBody(req, limits, scope), replace };
  }
  if (typeof body !== 'string' && !ArrayBuffer.isView(body)) return { value: body, replace };
  if (!isUtf8Type(type ?? '')) throw bodyErrors.otherType();
  const bytes =
    typeof body === 'string' ? Buffer.from(body) : new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  const asText = typeof body === 'string';
  return {
    value: parseBody(bytes, limits),
    replace: (value) => replaceBody(req, asText ? JSON.stringify(value) : Buffer.from(JSON.stringify(value))),
  };
}

async function readUnparsedBody(
  req: NodeRequest,
  limits: BodyLimits,
  scope: ScopeOf<NodeRequest> | undefined,
): Promise<unknown> {
  const { value: body } = await readJson(req, limits, scope);
  replaceBody(req, body);
  // The body is decoded now. Proxies that write the body again need its type.
  delete req.headers['content-encoding'];
  req.headers['content-type'] ??= 'application/json';
  return body;
}

/** The body of an unread request, which is JSON by its type; the value of an empty one is `{}`. Throws `ApiError`. */
export async function readJson(
  req: NodeRequest,
  limits: BodyLimits,
  scope: ScopeOf<never> | undefined,
): Promise<WholeJson> {
  const tenant = () => shareOfNode(req, scope);
  const body = new ArrivingBody(headerReader(req), limits, tenant);
  try {
    await collectPieces(req, body);
    return await body.whole();
  } finally {
    remember(req).bodySize = { tenant, bytes: body.size, most: body.most };
    body.close();
  }
}

/** The bytes of an unread body that nobody else looks at: nothing is put on the request, unless it is longer than announced. Throws `ApiError`. */
export async function readBytes(req: NodeRequest, limits: BodyLimits): Promise<Uint8Array> {
  const tenant = () => shareOfNode(req);
  const body = new ArrivingBody(headerReader(req), limits, tenant);
  try {
    await collectPieces(req, body);
    return await body.arrived();
  } finally {
    const { size: bytes, most } = body;
    // What `unreadAnswer` assumes of a body of which nothing is remembered.
    const isAsAnnounced = bytes === Number(req.headers['content-length']) && most === DEFAULT_LIMITS.bodiesBytes;
    if (!isAsAnnounced) remember(req).bodySize = { tenant, bytes, most };
    body.close();
  }
}

/** Stops reading as soon as the body is refused, and leaves the connection to the answer. */
function collectPieces(req: NodeRequest, body: ArrivingBody): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      // They would stay in memory until the answer has ended, and what they refer to.
      req.off('data', take).off('end', end).off('error', cut).off('close', cut);
    };
    const take = (piece: Buffer | string) => {
      try {
        // A parser of the host may have set an encoding.
        body.add(typeof piece === 'string' ? Buffer.from(piece) : piece);
      } catch (error) {
        stop();
        req.pause();
        reject(error);
      }
    };
    const end = () => {
      stop();
      resolve();
    };
    const cut = (cause?: unknown) => {
      stop();
      reject(bodyErrors.aborted(cause));
    };
    if (req.destroyed && !req.readableEnded) return cut(req.errored);
    req.on('data', take).on('end', end).on('error', cut).on('close', cut);
  });
}

/** Whether a body has been announced. HTTP/2 has neither header, and says with its headers whether data follow. */
export function hasBytes(req: NodeRequest & { stream?: { readonly endAfterHeaders?: boolean } }): boolean {
  const { headers, httpVersionMajor, stream } = req;
  if (httpVersionMajor > 1 && headers['content-length'] === undefined) return stream?.endAfterHeaders === false;
  return Number(headers['content-length']) > 0 || headers['transfer-encoding'] !== undefined;
}

function isEmptyObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !ArrayBuffer.isView(body) && Object.keys(body).length === 0;
}

/** Parsers of body-parser 1, such as `express.urlencoded` of Express 4, set `{}` for a body of another type, and leave it unread. */
function isPlaceholder(req: NodeRequest & { _body?: boolean }): boolean {
  return isEmptyObject(req.body) && hasBytes(req) && req._body !== true && !req.readableDidRead;
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
export function headerIn(res: ServerResponse, args: readonly unknown[], name: string): string | undefined {
  const found = headerPairs(args.at(-1)).find(([key]) => key === name)?.[1];
  const value = found ?? res.getHeader(name);
  return value === undefined || value === null ? undefined : String(value);
}

/** The headers that `writeHead` takes, with names in lower case: as an object, as pairs, or as alternating names and values. */
export function headerPairs(headers: unknown): readonly (readonly [string, unknown])[] {
  if (typeof headers !== 'object' || headers === null) return [];
  if (!Array.isArray(headers)) return Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  // As Node tells them apart: a value of the latter may be a list itself.
  const flat: readonly unknown[] = Array.isArray(headers[0]) ? headers.flat() : headers;
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name).toLowerCase(), flat[at + 1]] as const] : []));
}
