/** Answers HTTP requests with the APIs and the inspector, on Node's own server. */
import type { RequestListener } from 'node:http';
import { parse } from 'node:querystring';
import { isLocalHost } from '../../observe/inspector/server/access.ts';
import type { InspectorHandler } from '../../observe/inspector/server/handler.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { OpenApis } from '../../server/open-apis.ts';
import type { ApiRequest } from '../../server/served-routes.ts';
import { respond } from '../node/respond.ts';

/** What is served. */
interface Served {
  readonly api: Pick<OpenApis, 'handle' | 'refuse'>;
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
    if (!isForeign && inspector && (path === PAGE || path.startsWith(`${PAGE}/`))) {
      // As Express passes it to a mounted handler.
      const originalUrl = req.url ?? '';
      const below = originalUrl.slice(PAGE.length);
      return inspector(Object.assign(req, { originalUrl, url: below.startsWith('/') ? below : `/${below}` }), res);
    }
    const left = new AbortController();
    res.once('close', () => left.abort(new Error('The client left.')));
    const request: ApiRequest = {
      method: req.method ?? 'GET',
      path: path.startsWith(`${BASE}/`) ? path.slice(BASE.length) : '',
      query: parse(query),
      headers: req.headers,
      bytes: req,
      signal: left.signal,
      request: req,
      disconnect: () => res.destroy(),
    };
    // OpenAI's wording.
    const unknownPath = () => new ApiError('not_found', `Invalid URL (${req.method} ${path})`);
    const reply = isForeign
      ? api.refuse(FOREIGN, request)
      : (api.handle(request) ?? api.refuse(unknownPath(), request));
    reply
      .then((answer) => respond(res, answer))
      .catch(() => {
        // The client has left, or the answer broke off.
        if (res.headersSent || res.destroyed) return void res.destroy();
        res.writeHead(500).end();
      });
  };
}

const FOREIGN = new ApiError(
  'invalid_value',
  'This server accepts only a Host header that names its own machine, such as localhost.',
);
