/** The API of vector stores as an Express router. */
import type { Request, Router } from 'express';
import type { VectorStores } from '../../apis/vector-stores/create-vector-stores.ts';
import { isVectorStores } from '../../engine/indexing/vector-stores.ts';
import { checkOptions, isFunction } from '../../ports/host/options-check.ts';
import { type PlainOptions, plainChecks } from '../../server/options/plain-api.ts';
import type { HostRequest } from './host-request.ts';
import { partOptions, plainRouter } from './plain-router.ts';

/** The vector stores and the tenant; `undefined` means omitted. */
export interface VectorStoresRouterOptions<Req extends Request = HostRequest> extends PlainOptions {
  /** Made by `createVectorStores`, which has the quota. */
  readonly vectorStores: VectorStores;
  /** The tenant of a request, as for `filesRouter` and `responsesRouter`, which must have the same. Default: a digest of the API key. */
  readonly scope?: ((req: Req) => string) | undefined;
}

/**
 * `/vector_stores` with their files, batches and search, to be mounted at any path. Throws a `TypeError` for an unknown option
 * or a bad value. Beside other APIs, `openResponses` with `vectorStores.api` needs `scope` once.
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
export function vectorStoresRouter<Req extends Request = HostRequest>(options: VectorStoresRouterOptions<Req>): Router {
  const owner = 'vectorStoresRouter';
  checkOptions(owner, options, { vectorStores: isVectorStores, ...plainChecks, scope: isFunction });
  const { plain, own } = partOptions(options);
  const { vectorStores } = own;
  if (vectorStores === undefined) throw new TypeError(`${owner}: vectorStores is missing, got undefined`);
  return plainRouter(owner, vectorStores.api, plain).router;
}
