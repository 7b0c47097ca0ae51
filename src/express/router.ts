/** The parts that all routers share: options, error handling and shutting down. */
import type { ErrorRequestHandler, Request, Router } from 'express';
import type { DrainOptions } from '../ports/endpoints/activity.ts';
import { type EndpointSettings, refusal } from '../ports/endpoints/endpoint.ts';
import type { ApiRoutes, Route } from '../ports/endpoints/routes.ts';
import { checkOptions, isFunction } from '../ports/host/options-check.ts';
import { ApiError } from '../protocol/errors.ts';
import { type CoreOptions, type CoreSettings, coreChecks, coreSettings } from '../server/options.ts';
import { type ReportedRoutes, reportedRoutes } from '../server/reported-routes.ts';
import { type RouterStatus, statusReader } from '../server/status.ts';
import { express } from './express.cjs';
import { handle, handleBytes, run, type Scope } from './handle.ts';
import { readBody } from './read-body.ts';

/**
 * The shared options, and those that need an Express app. `Req` is the request as the app's earlier handlers leave it,
 * such as one with a `user`.
 */
export interface RouterOptions<Req extends Request = Request> extends CoreOptions<Req> {
  /**
   * The tenant whose responses a request may see, such as the user's id. Default: a digest of the API key; a request
   * with a cookie and no key is not stored.
   */
  readonly scope?: Scope<Req> | undefined;
}

/** An Express router that can be shut down, and asked how it is. */
export interface DrainableRouter extends Router {
  /** Refuses new requests with 503 and resolves when every running answer has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
  /**
   * What works, for the host's own health route: plain JSON within a second or so, however often it is called. It reads
   * from the store once and never asks the model; it never rejects.
   */
  status(): Promise<RouterStatus>;
}

/** The settings of a router, and how to serve routes with them. */
interface RouterKit {
  readonly settings: CoreSettings;
  serve(api: ApiRoutes): DrainableRouter;
}

/** Checks the options of the factory `owner`; throws a `TypeError` that names the invalid option. */
export function routerKit(owner: string, options: RouterOptions<never>): RouterKit {
  checkOptions(owner, options, { ...coreChecks, scope: isFunction });
  const { scope: scopeOf, ...core } = options;
  // The cast: the host states what its earlier handlers make of a request.
  const scope = scopeOf as Scope | undefined;
  const settings = coreSettings(owner, core);

  function serve(api: ApiRoutes): DrainableRouter {
    const { routes, drain, running } = reportedRoutes(api, settings);
    const router = routerOf(routes, { ...settings, envelopeOf: api.envelopeOf }, scope);
    return Object.assign(router, { drain, status: statusReader(settings, running) });
  }

  return { settings, serve };
}

/** The router of an API that calls no model; `scope` is the host's. */
export function plainRouter({ routes, settings }: ReportedRoutes, scope: Scope<never> | undefined): Router {
  // The cast: the host states what its earlier handlers make of a request.
  return routerOf(routes, settings, scope as Scope | undefined);
}

type ServingSettings = EndpointSettings & Pick<CoreSettings, 'limits' | 'owner'>;

function routerOf(routes: readonly Route[], settings: ServingSettings, scope: Scope | undefined): Router {
  const body = readBody(settings.limits);
  const router = express().Router();
  for (const { method, path, endpoint, readsBytes } of routes) {
    if (readsBytes) router.post(path, handleBytes(endpoint, settings.owner, scope));
    else if (method === 'POST') router.post(path, body, handle(endpoint, scope));
    else if (method === 'GET') router.get(path, handle(endpoint, scope));
    else router.delete(path, handle(endpoint, scope));
  }
  return router.use(answerErrors(settings));
}

/** Answers request errors found before an endpoint runs; the host's own errors go to the host's handler. */
function answerErrors(settings: EndpointSettings): ErrorRequestHandler {
  return function answerErrors(error, req, res, next) {
    const shown = error instanceof URIError ? new ApiError('invalid_value', 'The path is not valid.') : error;
    if (!(shown instanceof ApiError)) return next(error);
    run(refusal(shown, settings), req, res, next, () => '');
  };
}
