/** The Files API as a value, for `openResponses` and for the router. */
import { isVectorStores, type VectorStores } from '../../engine/indexing/vector-stores.ts';
import { type FileStore, isFileStore } from '../../ports/files/file-store.ts';
import { answersInTime } from '../../ports/host/answers-in-time.ts';
import { checkOptions, isObject, type OptionCheck } from '../../ports/host/options-check.ts';
import type { Api } from '../endpoint/api.ts';
import { formParser } from '../endpoint/forms/multipart.ts';
import { UploadSlots } from '../endpoint/forms/upload-slots.ts';
import { fileRoutes } from './endpoints.ts';
import { type FileQuota, fileLimits } from './limits.ts';

/** The store and the quota; `undefined` means omitted. */
export interface FilesOptions {
  /** Where files are kept: `diskFiles`, `sqliteFiles`, or one of your own. */
  readonly files: FileStore;
  /** What a tenant may keep and an upload may hold. Default: those of `FileQuota`. */
  readonly quota?: FileQuota | undefined;
  /**
   * Made by `createVectorStores` over the same files: a file that is deleted is removed from them at once. Default: those
   * whose API is served beside this one; others remove it when they next find it.
   */
  readonly vectorStores?: VectorStores | undefined;
}

/** The checks of the options, to which a router adds its own. */
export const filesChecks: Readonly<Record<keyof FilesOptions, OptionCheck>> = {
  files: isFileStore,
  quota: isObject,
  vectorStores: isVectorStores,
};

/**
 * `POST` and `GET /files`, `GET` and `DELETE /files/{id}`, `GET /files/{id}/content` and `/uploads`, for the option `apis` of
 * `openResponses`, whose requests then find the files, and which closes the store. Needs the package
 * `@fastify/busboy`. Throws a `TypeError` for an unknown option or a bad value, and an `Error` if the package is missing.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { openResponses } from 'express-open-responses';
 * import { diskFiles, filesApi } from 'express-open-responses/files';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const api = openResponses({ apis: [filesApi({ files })] });
 * express().use('/v1', api.router).listen(3000);
 * ```
 */
export function filesApi(options: FilesOptions): Api {
  checkOptions('filesApi', options, filesChecks);
  return makeFilesApi('filesApi', options);
}

/** The same for the function `owner`, which has checked its options. */
export function makeFilesApi(owner: string, { files, vectorStores, quota }: FilesOptions): Api {
  if (files === undefined) throw new TypeError(`${owner}: files is missing, got undefined`);
  const settled = fileLimits(owner, quota);
  const parser = formParser(owner, settled);
  const isAlive = answersInTime(() => files.usage('express-open-responses:status'));
  return {
    name: 'files',
    files,
    open(host) {
      const slots = new UploadSlots(settled);
      const settings = { ...host, files, fileLimits: settled, formParser: parser };
      return {
        routes: fileRoutes(settings, slots),
        describe: async () => [(await import('./description.ts')).describeFiles()],
        drain: slots.drain,
        status: async () => ({ ok: await isAlive(), kind: files.name, uploads: slots.running }),
        ...(vectorStores && { forgetFile: (key) => vectorStores.forgetFile(key) }),
      };
    },
  };
}
