/** The API of vector stores as an Express router. */
import type { Request, Router } from 'express';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import {
  buildVectorStoresApi,
  type VectorStoresApiOptions,
  vectorStoresChecks,
} from '../../server/vector-stores-api.ts';
import { plainRouter } from './plain-router.ts';

/** The vector stores, the tenant and the quota; `undefined` means omitted. */
export interface VectorStoresRouterOptions<Req extends Request = Request> extends VectorStoresApiOptions {
  /** The tenant of a request, as for `filesRouter` and `responsesRouter`, which must have the same. Default: a digest of the API key. */
  readonly scope?: ((req: Req) => string) | undefined;
}

/**
 * `/vector_stores` with their files, batches and search, to be mounted at any path. Throws a `TypeError` for an unknown option
 * or a bad value.
 *
 * @example
 * ```ts
 * import express from 'express';
 * import { diskFiles, filesRouter } from 'express-open-responses/files';
 * import { createVectorStores, memoryVectors, vectorStoresRouter } from 'express-open-responses/vector-stores';
 *
 * const files = diskFiles({ folder: '/var/lib/my-app/files' });
 * const embeddings = { baseURL: 'http://localhost:8080/v1', model: 'bge-m3' };
 * const vectorStores = createVectorStores({ files, index: memoryVectors(), embeddings });
 * express().use('/v1', filesRouter({ files }), vectorStoresRouter({ vectorStores })).listen(3000);
 * ```
 */
export function vectorStoresRouter<Req extends Request = Request>(options: VectorStoresRouterOptions<Req>): Router {
  const owner = 'vectorStoresRouter';
  checkOptions(owner, options, { ...vectorStoresChecks, scope: isFunction });
  return plainRouter(buildVectorStoresApi(owner, options), options.scope);
}
