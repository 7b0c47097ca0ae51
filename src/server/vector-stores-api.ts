/** The API of vector stores as a function from a request to a reply, for frameworks without a router in this package. */
import { vectorStoreRoutes } from '../apis/vector-stores/endpoints.ts';
import { type VectorStoreQuota, vectorStoreLimits } from '../apis/vector-stores/limits.ts';
import type { VectorStores } from '../engine/indexing/vector-stores.ts';
import { checkOptions, type OptionCheck } from '../ports/host/options-check.ts';
import { isVectorStores, type PlainOptions, plainChecks, plainSettings } from './options/plain-api.ts';
import { type ReportedRoutes, reported } from './reported-routes.ts';
import { type ServedApi, servedRoutes } from './served-routes.ts';

/** The vector stores and the quota; `undefined` means omitted. */
export interface VectorStoresApiOptions extends PlainOptions {
  /** Made by `createVectorStores`. */
  readonly vectorStores: VectorStores;
  /** What a tenant may keep, and ask at once. Default: those of `VectorStoreQuota`. */
  readonly quota?: VectorStoreQuota | undefined;
}

/** The checks of the options, to which a router adds its own. */
export const vectorStoresChecks: Readonly<Record<string, OptionCheck>> = {
  vectorStores: isVectorStores,
  ...plainChecks,
};

/** The routes of vector stores, which report their steps, and their settings. */
export function buildVectorStoresApi(owner: string, options: VectorStoresApiOptions): ReportedRoutes {
  if (options.vectorStores === undefined) throw new TypeError(`${owner}: vectorStores is missing, got undefined`);
  const { vectorStores, quota, hooks, logger } = options;
  const settings = plainSettings(owner, { hooks, logger });
  const routes = vectorStoreRoutes({ ...settings, vectorStores, storeLimits: vectorStoreLimits(owner, quota) });
  return { routes: routes.map((route) => reported(route, settings)), settings };
}

/**
 * The API of vector stores, for `toWebHandler` and for hosts of your own. Throws a `TypeError` for an unknown option or a bad
 * value.
 *
 * @example
 * ```ts
 * import { toWebHandler } from 'express-open-responses/core';
 * import { createFiles, diskFiles } from 'express-open-responses/files';
 * import { createVectorStores, createVectorStoresApi, memoryVectors } from 'express-open-responses/vector-stores';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const embeddings = { baseURL: 'http://localhost:8080/v1', model: 'bge-m3' };
 * const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings });
 * const apis = [createFiles({ files }), createVectorStoresApi({ vectorStores })];
 * const handler = toWebHandler({ basePath: '/v1', files, apis });
 * ```
 */
export function createVectorStoresApi<Req = unknown>(options: VectorStoresApiOptions): ServedApi<Req> {
  checkOptions('createVectorStoresApi', options, vectorStoresChecks);
  const { routes, settings } = buildVectorStoresApi('createVectorStoresApi', options);
  return servedRoutes(routes, settings);
}
