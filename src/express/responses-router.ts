/** The Responses API as an Express router. */
import { type ErrorRequestHandler, type Request, type RequestHandler, Router } from 'express';
import type { DrainOptions } from '../core/activity.ts';
import { ApiError } from '../core/errors.ts';
import { tell } from '../core/hooks.ts';
import { type CoreOptions, coreChecks, coreSettings } from '../core/options.ts';
import { checkOptions } from '../core/options-check.ts';
import { errorReply } from '../core/reply.ts';
import { type Endpoint, responsesEndpoints } from '../core/responses/endpoints.ts';
import { callOf, requestIdOf, type Scope, scopeOfAuthorization } from './call-of.ts';
import { readBody } from './read-body.ts';
import { respond } from './respond.ts';

/** The shared options, and what only an Express app knows. */
export interface ResponsesRouterOptions extends CoreOptions {
  /** Whose responses a request may see, such as the user's id. Default: a digest of the `Authorization` header. */
  readonly scope?: Scope | undefined;
}

/** An Express router that can be shut down. */
export interface ResponsesRouter extends Router {
  /** Refuses new requests with 503 and resolves when every running response has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
}

/**
 * `POST /responses`, `GET` and `DELETE /responses/{id}`, `GET /responses/{id}/input_items` and `GET /models`, to be
 * mounted at any path. Throws a `TypeError` for an unknown option or a bad value.
 */
export function responsesRouter(options: ResponsesRouterOptions = {}): ResponsesRouter {
  const { scope = scopeOfAuthorization, ...core } = checked(options);
  const settings = coreSettings('responsesRouter', core);
  const endpoints = responsesEndpoints(settings);
  const router = Router();

  const handle =
    (endpointOf: (req: Request) => Endpoint): RequestHandler =>
    (req, res, next) => {
      const call = callOf(req, res, scope);
      endpointOf(req)(call)
        .then((reply) => respond(res, reply))
        // Express 4 does not see rejections. Nobody is left to tell where the client has gone.
        .catch((error) => (call.signal.aborted ? undefined : next(error)));
    };
  const tellClient: ErrorRequestHandler = (error, req, res, next) => {
    if (!(error instanceof ApiError)) return next(error);
    tell(
      settings.hooks,
      'onError',
      error,
      callOf(req, res, () => ''),
    );
    respond(res, errorReply(error)).catch(next);
  };
  const id = (req: Request) => String(req.params.id);

  router.post(
    '/responses',
    readBody(settings.limits.bodyBytes),
    handle(() => endpoints.create),
  );
  router.get(
    '/responses/:id',
    handle((req) => endpoints.retrieve(id(req))),
  );
  router.delete(
    '/responses/:id',
    handle((req) => endpoints.remove(id(req))),
  );
  router.get(
    '/responses/:id/input_items',
    handle((req) => endpoints.inputItems(id(req))),
  );
  router.get(
    '/models',
    handle(() => endpoints.models),
  );
  router.use(tellClient);
  return Object.assign(router, { drain: endpoints.drain });
}

function checked(options: ResponsesRouterOptions): ResponsesRouterOptions {
  const scope = (value: unknown) => typeof value === 'function' || 'a function';
  checkOptions('responsesRouter', options, { ...coreChecks, scope });
  return options;
}
