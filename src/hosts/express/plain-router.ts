/** Routes as an Express router, and error handling. */
import type { ErrorRequestHandler, Router } from 'express';
import type { Api, ApiHost, OpenApi } from '../../apis/endpoint/api.ts';
import { type EndpointSettings, refusalEndpoint } from '../../apis/endpoint/endpoint.ts';
import type { Route } from '../../apis/endpoint/routes.ts';
import type { Hooks } from '../../ports/hooks.ts';
import { ApiError } from '../../protocol/errors.ts';
import { apiHost } from '../../server/api-host.ts';
import { type DescribedApi, rememberNeighbours, rememberRouter } from '../../server/openapi/described-routers.ts';
import { DOCUMENT_PATH, openApiRoute } from '../../server/openapi/openapi-route.ts';
import { type PlainOptions, type PlainSettings, plainSettings } from '../../server/options/plain-api.ts';
import { reportedRoute } from '../../server/reported-routes.ts';
import { discardRest } from '../node/discard-rest.ts';
import { express } from './express.cjs';
import { answerRequest, handle, handleBytes, type Scope } from './handle.ts';
import { apisMountedBehind } from './mounted-routers.ts';
import { readBody } from './read-body.ts';

/** What serving an API alone takes besides the API. */
interface PlainRouterOptions extends Omit<PlainOptions, 'hooks'> {
  readonly hooks?: Hooks | undefined;
  readonly scope?: Scope<never> | undefined;
}

/** The options that every such router has, for `plainRouter`; and those of its own API. */
export function partOptions<Options extends PlainRouterOptions>({ scope, hooks, logger, openapi, ...own }: Options) {
  const plain: PlainRouterOptions = { scope, hooks, logger, openapi };
  return { plain, own };
}

/** What an API that is served alone shares with others, or is given by its router. */
type SharedParts = Partial<Pick<ApiHost, 'endpointAt' | 'limits' | 'secret' | 'approval' | 'guards'>>;

const NOTHING_SHARED = {
  store: undefined,
  secret: undefined,
  webhooks: undefined,
  toolsOf: undefined,
  approval: undefined,
  guards: undefined,
  endpointAt: () => undefined,
};

/** The router of an API that calls no model, served alone by the function `owner`; and the API as it was opened. */
export function plainRouter(
  owner: string,
  api: Api,
  { scope, openapi = true, ...options }: PlainRouterOptions,
  { limits, ...shared }: SharedParts = {},
): { readonly router: Router; readonly open: OpenApi } {
  const plain = plainSettings(owner, options);
  const settings = limits ? { ...plain, limits } : plain;
  const host = apiHost(settings, {
    ...NOTHING_SHARED,
    ...shared,
    forgetFile: async (key) => open.forgetFile?.(key),
  });
  const open: OpenApi = api.open(host);
  const serving = { ...settings, envelopeOf: open.envelopeOf };
  const all = openapi ? [...open.routes, openApiRoute(() => [open], serving)] : open.routes;
  const routes = all.map((route) => reportedRoute(route, settings));
  // The cast: the host states what its earlier handlers make of a request.
  return {
    router: createRouter(routes, serving, { scope: scope as Scope | undefined, described: openapi ? [open] : [] }),
    open,
  };
}

type ServingSettings = EndpointSettings & Pick<PlainSettings, 'limits' | 'owner'>;

/** Whose requests they are, and what documents say of the routes: nothing where the host does not want it. */
interface RouterPlace {
  readonly scope: Scope | undefined;
  readonly described: readonly DescribedApi[];
}

/** An Express router of the routes; their steps are reported already. */
export function createRouter(
  routes: readonly Route[],
  settings: ServingSettings,
  { scope, described }: RouterPlace,
): Router {
  const body = readBody(settings.limits, scope);
  const router = express().Router();
  rememberRouter(router, described);
  for (const { method, path, endpoint, readsBytes } of routes) {
    if (readsBytes) router.post(path, handleBytes(endpoint, settings.owner, scope));
    else if (method === 'POST') router.post(path, body, handle(endpoint, scope));
    else if (path === DOCUMENT_PATH)
      router.get(path, (req, res, next) => {
        rememberNeighbours(req, apisMountedBehind(router, req));
        answerRequest(endpoint, req, res, next, scope);
      });
    else if (method === 'GET') router.get(path, handle(endpoint, scope));
    else router.delete(path, handle(endpoint, scope));
  }
  return router.use(answerErrors(settings));
}

/** Answers request errors found before an endpoint runs; the host's own errors go to the host's handler. */
function answerErrors(settings: EndpointSettings): ErrorRequestHandler {
  return function answerErrors(error, req, res, next) {
    const apiError = error instanceof URIError ? new ApiError('invalid_value', 'The path is not valid.') : error;
    if (!(apiError instanceof ApiError)) return next(error);
    if (!req.readableEnded) discardRest(req, res);
    answerRequest(refusalEndpoint(apiError, settings), req, res, next, () => '');
  };
}
