/** Answers HTTP requests with the APIs and the inspector, on Node's own server. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import { isLocalHost } from '../../observe/inspector/server/access.ts';
import type { InspectorHandler } from '../../observe/inspector/server/handler.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { Api } from '../../server/api.ts';
import type { ApiRequest } from '../../server/served-routes.ts';
import { respond } from '../node/respond.ts';

/** What is served. */
interface Served {
  readonly api: Api;
  /** Undefined where it is off. */
  readonly inspector: InspectorHandler | undefined;
  /** Whether the server listens to this machine alone. */
  readonly isLocal: boolean;
}

const BASE = '/v1';
const PAGE = '/inspect';

/** Serves `/v1`, `/health`, and `/inspect` if it is on. */
export function listener({ api, inspector, isLocal }: Served): RequestListener {
  return function serveRequest(req, res) {
    const [path = '', query = ''] = (req.url ?? '/').split(/\?(.*)/s, 2);
    // A web page whose domain resolves to this machine (DNS rebinding) would otherwise use the model server's key.
    const isForeign = isLocal && !isLocalHost(req.headers.host);
    if (!isForeign && path === '/health')
      return void res.setHeader('content-type', 'application/json').end('{"status":"ok"}');
    if (!isForeign && inspector && (path === PAGE || path.startsWith(`${PAGE}/`))) return inspector(below(req), res);
    const request = requestOf(req, res, path, query);
    const reply = isForeign
      ? api.refuse(FOREIGN, request)
      : (api.handle(request) ?? api.refuse(unknown(req, path), request));
    reply.then((answer) => respond(res, answer)).catch(() => failed(res));
  };
}

const FOREIGN = new ApiError(
  'invalid_value',
  'This server accepts only a Host header that names its own machine, such as localhost.',
);

/** OpenAI's wording. */
function unknown({ method }: IncomingMessage, path: string): ApiError {
  return new ApiError('not_found', `Invalid URL (${method} ${path})`);
}

/** The request as Express passes it to a mounted handler. */
function below(req: IncomingMessage): IncomingMessage {
  const originalUrl = req.url ?? '';
  const url = originalUrl.slice(PAGE.length);
  return Object.assign(req, { originalUrl, url: url.startsWith('/') ? url : `/${url}` });
}

function requestOf(req: IncomingMessage, res: ServerResponse, path: string, query: string): ApiRequest {
  const left = new AbortController();
  res.once('close', () => left.abort(new Error('The client left.')));
  return {
    method: req.method ?? 'GET',
    path: path.startsWith(`${BASE}/`) ? path.slice(BASE.length) : '',
    query: parse(query),
    headers: req.headers,
    bytes: req,
    signal: left.signal,
    request: req,
    disconnect: () => res.destroy(),
  };
}

/** Ends an answer that failed: the client has left, or the answer broke off. */
function failed(res: ServerResponse): void {
  if (res.headersSent || res.destroyed) return void res.destroy();
  res.writeHead(500).end();
}
