/** The batch APIs of OpenAI and Anthropic as an Express router. */
import type { Request, Router } from 'express';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { type BatchesOptions, batchesChecks, buildBatchesApi } from '../../server/batches-api.ts';
import type { Scope } from './handle.ts';
import { plainRouter } from './plain-router.ts';

/** What batches are made of, and the tenant; `undefined` means omitted. */
export interface BatchesRouterOptions<Req extends Request = Request> extends BatchesOptions {
  /** The tenant of a request, as for `filesRouter` and `responsesRouter`, which must have the same. Default: a digest of the API key. */
  readonly scope?: Scope<Req> | undefined;
}

/** An Express router that runs batches until it is drained. */
export interface BatchesRouter extends Router {
  /** Gives back what runs, for other processes or the next start, and closes the engine. May be called twice. */
  drain(): Promise<void>;
}

/**
 * `/batches` of OpenAI's API and `/messages/batches` of Anthropic's, to be mounted at any path, before a router of messages. Throws a
 * `TypeError` for an unknown option or a bad value.
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
export function batchesRouter<Req extends Request = Request>(options: BatchesRouterOptions<Req>): BatchesRouter {
  const owner = 'batchesRouter';
  checkOptions(owner, options, { ...batchesChecks, scope: isFunction });
  const { drain, ...api } = buildBatchesApi(owner, options);
  return Object.assign(plainRouter(api, options.scope), { drain });
}
