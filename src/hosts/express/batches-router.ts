/** The batch APIs of OpenAI and Anthropic as an Express router. */
import type { Request, Router } from 'express';
import { type BatchesOptions, batchesChecks, makeBatchesApi } from '../../apis/batches/endpoints/batches-api.ts';
import type { EndpointFinder } from '../../apis/endpoint/api.ts';
import { checkOptions, isFunction, type OptionCheck } from '../../ports/host/options-check.ts';
import { type PlainOptions, plainChecks } from '../../server/options/plain-api.ts';
import type { HostRequest } from './host-request.ts';
import { partOptions, plainRouter } from './plain-router.ts';
import type { DrainableRouter } from './router.ts';

/** What batches are made of, what answers them, and the tenant; `undefined` means omitted. */
export interface BatchesRouterOptions<Req extends Request = HostRequest> extends BatchesOptions, PlainOptions {
  /** What answers the lines: routers such as `responsesRouter(options)`, whose places, budgets and limits the lines share. */
  readonly apis: readonly Pick<DrainableRouter, 'endpointAt'>[];
  /** The tenant of a request, as for `filesRouter` and `responsesRouter`, which must have the same. Default: a digest of the API key. */
  readonly scope?: ((req: Req) => string) | undefined;
}

/** An Express router that runs batches until it is drained. */
export interface BatchesRouter extends Router {
  /** Gives back what runs, for other processes or the next start, and closes the engine. May be called twice. */
  drain(): Promise<void>;
}

const areRouters: OptionCheck = (value) =>
  (Array.isArray(value) && value.length > 0 && value.every((each) => isFunction(Object(each).endpointAt) === true)) ||
  'a list of routers such as responsesRouter()';

/**
 * `/batches` of OpenAI's API and `/messages/batches` of Anthropic's, to be mounted at any path, before a router of messages. Throws a
 * `TypeError` for an unknown option or a bad value. Beside other APIs, `openResponses` with `batchesApi` needs each option once.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { batchesRouter } from 'express-open-responses/batches';
 * import { diskFiles, filesRouter } from 'express-open-responses/files';
 *
 * const upstream = chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1' });
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const responses = responsesRouter({ upstream, files });
 * express().use('/v1', filesRouter({ files }), batchesRouter({ files, apis: [responses] }), responses).listen(3000);
 * ```
 */
export function batchesRouter<Req extends Request = HostRequest>(options: BatchesRouterOptions<Req>): BatchesRouter {
  const owner = 'batchesRouter';
  checkOptions(owner, options, { ...batchesChecks, ...plainChecks, apis: areRouters, scope: isFunction });
  const { plain, own } = partOptions(options);
  const { apis, ...batches } = own;
  if (apis === undefined) throw new TypeError(`${owner}: apis is missing, got undefined`);
  const endpointAt: EndpointFinder = (path) => {
    for (const api of apis) {
      const endpoint = api.endpointAt(path);
      if (endpoint) return endpoint;
    }
    return undefined;
  };
  const { router, open } = plainRouter(owner, makeBatchesApi(owner, batches), plain, { endpointAt });
  return Object.assign(router, { drain: async () => open.drain?.() });
}
