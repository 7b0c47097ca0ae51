/** The Files API as a function from a request to a reply, for frameworks without a router in this package. */
import { fileRoutes } from '../apis/files/endpoints.ts';
import { type FileQuota, fileLimits } from '../apis/files/limits.ts';
import { formParser } from '../apis/files/multipart.ts';
import type { VectorStores } from '../engine/indexing/vector-stores.ts';
import type { FileStore } from '../ports/files/file-store.ts';
import { checkOptions, type OptionCheck } from '../ports/host/options-check.ts';
import type { ResponseKey } from '../ports/store.ts';
import { isFileStore, isVectorStores, type PlainOptions, plainChecks, plainSettings } from './options/plain-api.ts';
import { type ReportedRoutes, reported } from './reported-routes.ts';
import { type ServedApi, servedRoutes } from './served-routes.ts';

/** The store and the quota; `undefined` means omitted. */
export interface FilesOptions extends PlainOptions {
  /** Where files are kept: `diskFiles`, `sqliteFiles`, or one of your own. */
  readonly files: FileStore;
  /** What a tenant may keep and an upload may hold. Default: those of `FileQuota`. */
  readonly quota?: FileQuota | undefined;
  /**
   * Made by `createVectorStores` over the same files: a file that is deleted is removed from them at once. Default: they remove it
   * when they next find it.
   */
  readonly vectorStores?: VectorStores | undefined;
}

/** The checks of the options, to which a router adds its own. */
export const filesChecks: Readonly<Record<string, OptionCheck>> = {
  files: isFileStore,
  vectorStores: isVectorStores,
  ...plainChecks,
};

/** The routes of the Files API, which report their steps, and their settings. */
export function buildFilesApi(owner: string, options: FilesOptions): ReportedRoutes {
  if (options.files === undefined) throw new TypeError(`${owner}: files is missing, got undefined`);
  const { files, vectorStores, quota, hooks, logger } = options;
  const settings = plainSettings(owner, { hooks, logger });
  const settled = fileLimits(owner, quota);
  const forgetFile = vectorStores && ((key: ResponseKey) => vectorStores.forgetFile(key));
  const own = { files, forgetFile, fileLimits: settled, formParser: formParser(owner, settled) };
  const routes = fileRoutes({ ...settings, ...own });
  return { routes: routes.map((route) => reported(route, settings)), settings };
}

/**
 * The Files API, for `toWebHandler` and for hosts of your own; its requests bring their body as `bytes`. Needs the package
 * `@fastify/busboy`. Throws a `TypeError` for an unknown option or a bad value, and an `Error` if the package is missing.
 *
 * @example
 * ```ts
 * import { toWebHandler } from 'express-open-responses/core';
 * import { createFiles, diskFiles } from 'express-open-responses/files';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const handler = toWebHandler({ basePath: '/v1', files, apis: [createFiles({ files })] });
 * ```
 */
export function createFiles<Req = unknown>(options: FilesOptions): ServedApi<Req> {
  checkOptions('createFiles', options, filesChecks);
  const { routes, settings } = buildFilesApi('createFiles', options);
  return servedRoutes(routes, settings);
}
