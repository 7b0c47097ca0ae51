/** Serves the pages and their data over Node's own request and response. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { VERSION } from '../../../protocol/version.ts';
import type { Observer } from '../observing/observer.ts';
import type { ContainerUses } from '../recording/container-uses.ts';
import type { Ring } from '../recording/ring.ts';
import type { TraceLog } from '../recording/traces.ts';
import { accessRefusal, isOfAnotherSite } from './access.ts';
import { assetNamed } from './assets.ts';
import { containerView } from './container-view.ts';
import { conversationView } from './conversation-view.ts';
import { jobView } from './job-view.ts';
import { listView } from './list-view.ts';
import type { LivePages } from './live.ts';
import type { InspectorSettings } from './options.ts';
import { toolView, upstreamView } from './part-views.ts';
import { responseView } from './response-view.ts';
import { runTool } from './tool-run.ts';
import { traceView } from './trace-view.ts';

/** A handler of Express, Connect or bare Node. */
export type InspectorHandler = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void) => void;

/** What the pages show. */
interface InspectorParts {
  readonly ring: Ring;
  readonly observer: Observer;
  readonly live: LivePages;
  readonly traces: TraceLog;
  readonly settings: InspectorSettings;
  readonly uses: ContainerUses | undefined;
}

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** The handler, to be mounted at any path. */
export function inspectorHandler(parts: InspectorParts): InspectorHandler {
  return function inspectorPages(req, res, next) {
    serveRequest(req, res, parts).catch((error) => {
      if (res.headersSent) return res.destroy();
      if (next) return next(error);
      send(res, 500, 'text/plain; charset=utf-8', 'The inspector failed.');
    });
  };
}

/** Express and Connect leave the whole path in `originalUrl`. */
type InspectorRequest = IncomingMessage & { readonly originalUrl?: string };

async function serveRequest(req: InspectorRequest, res: ServerResponse, parts: InspectorParts): Promise<void> {
  const refusal = await accessRefusal(req, parts.settings);
  if (refusal !== undefined) return send(res, refusal.status, 'text/plain; charset=utf-8', `${refusal.message}\n`);
  // Joined as text: resolved against a base, a path that begins with two slashes would name a host.
  const url = `http://inspector${req.url ?? '/'}`;
  if (!URL.canParse(url)) return sendNotFound(res);
  const { pathname, searchParams } = new URL(url);
  const isRun = pathname === RUN && req.method === 'POST' && parts.settings.apiPath !== undefined;
  if (req.method !== 'GET' && req.method !== 'HEAD' && !isRun) {
    res.setHeader('allow', 'GET, HEAD');
    return send(res, 405, 'text/plain; charset=utf-8', 'The inspector accepts only GET and HEAD requests.\n');
  }
  // Express and Connect pass the same path with and without the last slash; the page's relative links need the slash.
  const [path = ''] = (req.originalUrl ?? req.url ?? '/').split('?', 1);
  if (pathname === '/' && !path.endsWith('/')) {
    // A relative path also works behind a proxy that changes the path.
    res.setHeader('location', `./${path.split('/').at(-1) ?? ''}/`);
    return send(res, 308, 'text/plain; charset=utf-8', '');
  }
  if (pathname.startsWith('/api/') && isOfAnotherSite(req)) return sendJson(res, 403, { error: OTHER_SITE });
  if (isRun) {
    const left = new AbortController();
    res.once('close', () => left.abort());
    const { providers, toolCounts: counts, keepsText } = parts.observer;
    const settings = { providers, counts, keepsText, requestId: `inspector_${randomUUID()}`, signal: left.signal };
    const { status, body } = await runTool(req, settings);
    return sendJson(res, status, body);
  }
  if (pathname.startsWith('/api/')) return sendData(req, res, { path: pathname.slice(5), query: searchParams }, parts);
  const asset = await assetNamed(pathname === '/' ? 'index.html' : pathname.slice(1));
  if (!asset) return sendNotFound(res);
  send(res, 200, asset.type, asset.content);
}

/** Where the page runs a tool: the only request that does anything. */
const RUN = '/api/tools/run';

const OTHER_SITE = 'The inspector answers its own page, and no page of another origin.';

interface DataRequest {
  readonly path: string;
  readonly query: URLSearchParams;
}

async function sendData(
  req: IncomingMessage,
  res: ServerResponse,
  { path, query }: DataRequest,
  { ring, observer, live, traces, settings, uses }: InspectorParts,
): Promise<void> {
  switch (path) {
    case 'live':
      return live.hasRoom ? live.join(req, res, HEADERS) : sendJson(res, 503, { error: 'Too many pages are open.' });
    case 'about':
      return sendJson(res, 200, {
        version: VERSION,
        maxResponses: settings.maxResponses,
        maxBytes: settings.maxBytes,
        bodyCharacters: settings.bodyCharacters,
        access: settings.behindAuth ? 'behindAuth' : settings.authorize ? 'authorize' : 'loopback',
        apiPath: settings.apiPath ?? null,
        redacts: !!settings.redact,
        hasContainers: uses !== undefined,
      });
    case 'responses':
      return sendJson(res, 200, listView(ring, query));
    case 'conversations':
      return sendJson(res, 200, conversationView(ring, query));
    case 'tools':
      return sendJson(res, 200, await toolView(observer));
    case 'upstreams':
      return sendJson(res, 200, await upstreamView(observer.upstreams));
    case 'traces':
      return sendJson(res, 200, traceView(ring, traces, query));
    case 'jobs':
      return sendJson(res, 200, await jobView(query.get('tenant'), settings, ring));
    case 'containers':
      if (!uses) return sendJson(res, 404, { error: 'The inspector has no containers: set its option containers.' });
      return sendJson(res, 200, await containerView(uses));
    case 'webhooks': {
      const tenant = query.get('tenant');
      if (!settings.webhooks)
        return sendJson(res, 404, { error: 'The inspector has no webhooks: set its option webhooks.' });
      if (tenant === null) return sendJson(res, 400, { error: "Name the tenant: '?tenant=…'." });
      return sendJson(res, 200, { deliveries: await settings.webhooks.deliveries(tenant) });
    }
    default:
  }
  const number = Number(/^responses\/(\d{1,15})$/.exec(path)?.[1]);
  const recording = ring.get(number);
  if (recording) sendJson(res, 200, responseView(ring, recording, query));
  else if (number > 0) sendJson(res, 404, { error: 'This response is not kept any more.' });
  else sendNotFound(res);
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  send(res, status, 'application/json; charset=utf-8', JSON.stringify(value));
}

function sendNotFound(res: ServerResponse): void {
  send(res, 404, 'text/plain; charset=utf-8', 'The inspector has no such page.\n');
}

function send(res: ServerResponse, status: number, type: string, content: string | Buffer): void {
  const length = Buffer.byteLength(content);
  res.writeHead(status, { ...HEADERS, 'content-type': type, 'content-length': length }).end(content);
}
