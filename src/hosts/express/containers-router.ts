/** The API of containers as an Express router. */
import type { Request, Router } from 'express';
import {
  type ContainersApiOptions,
  containersApiChecks,
  makeContainersApi,
} from '../../apis/containers/containers-api.ts';
import type { DrainOptions } from '../../engine/request/activity.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { type PlainOptions, plainChecks } from '../../server/options/plain-api.ts';
import type { HostRequest } from './host-request.ts';
import { partOptions, plainRouter } from './plain-router.ts';

/** The containers, where their files come from, and the tenant; `undefined` means omitted. */
export interface ContainersRouterOptions<Req extends Request = HostRequest> extends ContainersApiOptions, PlainOptions {
  /**
   * The tenant of a request: the same function as that of `responsesRouter`, whose containers are not found under another name.
   * Default: a digest of the API key.
   */
  readonly scope?: ((req: Req) => string) | undefined;
}

/** A router of containers that can be shut down. */
export interface ContainersRouter extends Router {
  /** Refuses new uploads with 503 and resolves when every running one has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
  /** Ends the containers unless they were given, or somebody else uses those of the runtime. May be called twice. */
  close(): Promise<void>;
}

/**
 * `/containers` and their `/files`, to be mounted at any path. Needs the package `@fastify/busboy`. Throws a `TypeError` for an
 * unknown option or a bad value, and an `Error` if the package is missing. Beside other APIs, `openResponses` with `containersApi`
 * needs `scope` once.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { responsesRouter } from 'express-open-responses';
 * import { codeInterpreter, pyodideRuntime } from 'express-open-responses/code-interpreter';
 * import { containersRouter } from 'express-open-responses/containers';
 *
 * const runtime = pyodideRuntime();
 * const responses = responsesRouter({ tools: codeInterpreter({ runtime }) });
 * express().use('/v1', containersRouter({ runtime }), responses).listen(3000);
 * ```
 */
export function containersRouter<Req extends Request = HostRequest>(
  options: ContainersRouterOptions<Req>,
): ContainersRouter {
  const owner = 'containersRouter';
  checkOptions(owner, options, { ...containersApiChecks, ...plainChecks, scope: isFunction });
  const { plain, own } = partOptions(options);
  const api = makeContainersApi(owner, own);
  const { router, open } = plainRouter(owner, api, plain);
  return Object.assign(router, {
    drain: async (drainOptions?: DrainOptions) => open.drain?.(drainOptions),
    close: async () => api.close?.(),
  });
}
