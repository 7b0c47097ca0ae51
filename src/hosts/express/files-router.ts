/** The Files API as an Express router. */
import type { Request, Router } from 'express';
import type { ApiStatus } from '../../apis/endpoint/api.ts';
import { type FilesOptions, filesChecks, makeFilesApi } from '../../apis/files/files-api.ts';
import type { DrainOptions } from '../../engine/request/activity.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { VERSION } from '../../protocol/version.ts';
import { type PlainOptions, plainChecks } from '../../server/options/plain-api.ts';
import type { HostRequest } from './host-request.ts';
import { partOptions, plainRouter } from './plain-router.ts';

/** The store, the tenant and the quota; `undefined` means omitted. */
export interface FilesRouterOptions<Req extends Request = HostRequest> extends FilesOptions, PlainOptions {
  /**
   * The tenant of a request: the same function as that of `responsesRouter`, which finds no file of a tenant that this one names
   * otherwise. Default: a digest of the API key.
   */
  readonly scope?: ((req: Req) => string) | undefined;
}

/** The state of the Files API, as plain JSON. */
export interface FilesStatus {
  /** `degraded` if the store of files does not answer. */
  readonly status: 'ok' | 'degraded';
  /** Of this package. */
  readonly version: string;
  /** The store, asked now, and what runs. */
  readonly files: ApiStatus;
}

/** A router of files that can be shut down, and asked how it is. */
export interface FilesRouter extends Router {
  /** Refuses new uploads with 503 and resolves when every running one has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
  /** What works, for the host's own health route. It never rejects. */
  status(): Promise<FilesStatus>;
}

/**
 * `POST` and `GET /files`, `GET` and `DELETE /files/{id}`, and `GET /files/{id}/content`, to be mounted at any path.
 * Uploads are stored while they arrive. Needs the package `@fastify/busboy`. Throws a `TypeError` for an unknown option or
 * a bad value, and an `Error` if the package is missing. Beside other APIs, `openResponses` with `filesApi` needs `files` and `scope` once.
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
export function filesRouter<Req extends Request = HostRequest>(options: FilesRouterOptions<Req>): FilesRouter {
  const owner = 'filesRouter';
  checkOptions(owner, options, { ...filesChecks, ...plainChecks, scope: isFunction });
  const { plain, own } = partOptions(options);
  const { router, open } = plainRouter(owner, makeFilesApi(owner, own), plain);
  return Object.assign(router, {
    drain: async (drainOptions?: DrainOptions) => open.drain?.(drainOptions),
    async status(): Promise<FilesStatus> {
      const status = (await open.status?.()) ?? { ok: true, kind: own.files.name, uploads: 0 };
      return { status: status.ok ? 'ok' : 'degraded', version: VERSION, files: status };
    },
  });
}
