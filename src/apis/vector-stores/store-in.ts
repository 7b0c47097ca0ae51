/** Finds the objects that the path of a request names. The ids of other tenants are unknown ids. */

import { fromIndex } from '../../engine/indexing/from-index.ts';
import { removeGone } from '../../engine/indexing/remove-gone.ts';
import type { VectorStores } from '../../engine/indexing/vector-stores.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { isUntracked } from '../../ports/scope.ts';
import {
  isStoreExpired,
  type StoredVectorStore,
  type VectorBatch,
  type VectorFile,
  type VectorFileKey,
  type VectorIndex,
} from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isObjectId, quoteId } from '../../protocol/ids.ts';

/** The vector store. Throws `vector_store_not_found`. */
export async function storeIn({ scope, params }: EndpointRequest, index: VectorIndex): Promise<StoredVectorStore> {
  const id = String(params.id);
  const isKnown = isObjectId('vectorStore', id) && !isUntracked(scope);
  const store = isKnown ? await fromIndex(() => index.getStore({ scope, id })) : undefined;
  if (!store) throw storeNotFound(id);
  return store;
}

/** The file of that vector store. Throws `vector_store_not_found` and `file_not_found`. */
export async function fileIn(request: EndpointRequest, index: VectorIndex): Promise<VectorFile> {
  const { scope, id: store } = await storeIn(request, index);
  const id = String(request.params.file);
  const file = isObjectId('file', id) ? await fromIndex(() => index.getFile({ scope, store, id })) : undefined;
  if (!file) throw fileNotInStore(id);
  return file;
}

/** The same, unless its upload was deleted or has expired: then it is removed here as well. Throws likewise. */
export async function keptFileIn(request: EndpointRequest, vectorStores: VectorStores): Promise<VectorFile> {
  const file = await fileIn(request, vectorStores.index);
  // Whatever is not completed has an indexer that finds out.
  const isGone = file.status === 'completed' && (await removeGone([file], vectorStores)).size > 0;
  if (isGone) throw fileNotInStore(file.id);
  return file;
}

/** The batch of that vector store. Throws `vector_store_not_found` and `file_batch_not_found`. */
export async function batchIn(request: EndpointRequest, index: VectorIndex): Promise<VectorBatch> {
  const { scope, id: store } = await storeIn(request, index);
  const key: VectorFileKey = { scope, store, id: String(request.params.batch) };
  const batch = isObjectId('vectorStore', key.id) ? await fromIndex(() => index.getBatch(key)) : undefined;
  if (!batch)
    throw new ApiError('file_batch_not_found', `No such batch of files: ${quoteId(key.id)}.`, { param: 'batch_id' });
  return batch;
}

/** No vector store of the tenant has the id. */
export function storeNotFound(id: unknown, param = 'vector_store_id'): ApiError {
  return new ApiError('vector_store_not_found', `No such vector store: ${quoteId(id)}.`, { param });
}

/** The vector store takes no change: it has expired, or was deleted meanwhile. */
export function storeOver(store: StoredVectorStore): ApiError {
  if (!isStoreExpired(store, Date.now())) return storeNotFound(store.id);
  const message = `The vector store ${quoteId(store.id)} has expired: add its files to a new one.`;
  return new ApiError('invalid_value', message, { param: 'vector_store_id' });
}

/** No file in the vector store has the id. */
export function fileNotInStore(id: unknown, param = 'file_id'): ApiError {
  return new ApiError('file_not_found', `No such file in the vector store: ${quoteId(id)}.`, { param });
}
