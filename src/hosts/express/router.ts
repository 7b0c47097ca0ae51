/** The parts that the routers of models share: options and shutting down. */
import type { Request, Router } from 'express';
import type { EndpointFinder, ModelApi } from '../../apis/endpoint/api.ts';
import type { DrainOptions } from '../../engine/request/activity.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { announcer } from '../../server/announce.ts';
import { openApiRoute } from '../../server/openapi/openapi-route.ts';
import { type CoreSettings, coreSettings } from '../../server/options/core-settings.ts';
import { CORE_PLACES, coreChecks } from '../../server/options/option-checks.ts';
import type { CoreOptions } from '../../server/options/options.ts';
import { warnOfUnused } from '../../server/options/unused-options.ts';
import { reportedRoute } from '../../server/reported-routes.ts';
import { servedRoutes } from '../../server/served-routes.ts';
import { type RouterStatus, statusReader } from '../../server/status.ts';
import type { Scope } from './handle.ts';
import type { HostRequest } from './host-request.ts';
import { createRouter } from './plain-router.ts';

/**
 * The shared options, and those that need an Express app. `Req` is the request as the app's earlier handlers leave it,
 * such as one with a `user`.
 */
export interface RouterOptions<Req extends Request = HostRequest> extends CoreOptions<Req> {
  /**
   * The tenant whose responses a request may see, such as the user's id. Default: a digest of the API key; a request
   * with a cookie and no key is not stored.
   */
  readonly scope?: ((req: Req) => string) | undefined;
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
  /** Asks the router without HTTP, within its places for turns: how `batchesRouter` has its lines answered. */
  readonly endpointAt: EndpointFinder;
}

/** The settings of a router, and how to serve routes with them. */
interface RouterKit {
  readonly settings: CoreSettings;
  serve(api: ModelApi): DrainableRouter;
}

/** Checks the options of the factory `owner`; throws a `TypeError` that names the invalid option. */
export function routerKit(owner: string, options: RouterOptions<never>): RouterKit {
  checkOptions(owner, options, { ...coreChecks, scope: isFunction }, CORE_PLACES);
  const { scope: scopeOf, ...core } = options;
  // The cast: the host states what its earlier handlers make of a request.
  const scope = scopeOf as Scope | undefined;
  const settings = coreSettings(owner, core);
  warnOfUnused(options, settings);

  function serve(api: ModelApi): DrainableRouter {
    const { routes, inner = [], envelopeOf, drain, running } = api;
    const announce = announcer(settings, scope);
    const serving = { ...settings, envelopeOf };
    const described = core.openapi === false ? [] : [api];
    const all = [...routes, ...described.map((each) => openApiRoute(() => [each], serving))];
    const reported = all.map((route) => reportedRoute(route, settings, announce));
    const { endpointAt } = servedRoutes([...reported, ...inner], serving);
    const router = createRouter(reported, serving, { scope, described });
    return Object.assign(router, { drain, status: statusReader(settings, running), endpointAt });
  }

  return { settings, serve };
}
