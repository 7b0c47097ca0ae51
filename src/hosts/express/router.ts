/** The parts that the routers of models share: options and shutting down. */
import type { Request, Router } from 'express';
import type { ApiRoutes } from '../../apis/endpoint/routes.ts';
import type { DrainOptions } from '../../engine/request/activity.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { type CoreSettings, coreSettings } from '../../server/options/core-settings.ts';
import { coreChecks } from '../../server/options/option-checks.ts';
import type { CoreOptions } from '../../server/options/options.ts';
import { reportedRoutes } from '../../server/reported-routes.ts';
import { type ServedApi, servedRoutes } from '../../server/served-routes.ts';
import { type RouterStatus, statusReader } from '../../server/status.ts';
import type { Scope } from './handle.ts';
import { createRouter } from './plain-router.ts';

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
  /** The same endpoints as a value, which share the router's places for turns: what `batchesRouter` sends its lines to. */
  readonly api: ServedApi;
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
    const { routes, drain, running } = reportedRoutes(api, settings, scope);
    const serving = { ...settings, envelopeOf: api.envelopeOf };
    const router = createRouter(routes, serving, scope);
    const served = servedRoutes(routes, serving);
    return Object.assign(router, { drain, status: statusReader(settings, running), api: served });
  }

  return { settings, serve };
}
