/** `POST /traces/ingest` as an Express router. */
import type { Request, Router } from 'express';
import { makeTracesApi, type TracesOptions, tracesChecks } from '../../apis/traces/traces-api.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { type PlainOptions, plainChecks } from '../../server/options/plain-api.ts';
import type { HostRequest } from './host-request.ts';
import { partOptions, plainRouter } from './plain-router.ts';

/** Where traces go, and the tenant; `undefined` means omitted. */
export interface TracesRouterOptions<Req extends Request = HostRequest> extends TracesOptions, PlainOptions {
  /** The tenant of a request, as for `responsesRouter`, whose responses the spans stand beside. Default: a digest of the API key. */
  readonly scope?: ((req: Req) => string) | undefined;
}

/**
 * `POST /traces/ingest`, to be mounted at any path. Throws a `TypeError` for an unknown option or a bad value. Beside other APIs,
 * `openResponses` with `tracesApi` needs `scope` once.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { forwardTraces } from 'express-open-responses/otel';
 * import { tracesRouter } from 'express-open-responses/traces';
 *
 * express().use('/v1', tracesRouter({ receivers: [forwardTraces()] })).listen(3000);
 * ```
 */
export function tracesRouter<Req extends Request = HostRequest>(options: TracesRouterOptions<Req>): Router {
  const owner = 'tracesRouter';
  checkOptions(owner, options, { ...tracesChecks, ...plainChecks, scope: isFunction });
  const { plain, own } = partOptions(options);
  return plainRouter(owner, makeTracesApi(owner, own), plain).router;
}
