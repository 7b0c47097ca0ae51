/** The Files API as an Express router. */
import type { Request, Router } from 'express';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { buildFilesApi, type FilesOptions, filesChecks } from '../../server/files-api.ts';
import { plainRouter } from './plain-router.ts';

/** The store, the tenant and the quota; `undefined` means omitted. */
export interface FilesRouterOptions<Req extends Request = Request> extends FilesOptions {
  /** The tenant of a request, as for `responsesRouter`, which must have the same. Default: a digest of the API key. */
  readonly scope?: ((req: Req) => string) | undefined;
}

/**
 * `POST` and `GET /files`, `GET` and `DELETE /files/{id}`, and `GET /files/{id}/content`, to be mounted at any path.
 * Uploads are stored while they arrive. Needs the package `@fastify/busboy`. Throws a `TypeError` for an unknown option or
 * a bad value, and an `Error` if the package is missing.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { diskFiles, filesRouter } from 'express-open-responses/files';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * express().use('/v1', filesRouter({ files })).listen(3000);
 * ```
 */
export function filesRouter<Req extends Request = Request>(options: FilesRouterOptions<Req>): Router {
  const owner = 'filesRouter';
  checkOptions(owner, options, { ...filesChecks, scope: isFunction });
  return plainRouter(buildFilesApi(owner, options), options.scope);
}
