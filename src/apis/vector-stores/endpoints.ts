/** The endpoints of vector stores as functions from a request to a reply, for any framework. */

import { guardBody } from '../../engine/guarding/request/guarded-body.ts';
import { collectGuards } from '../../engine/guarding/request/guards-of.ts';
import { fromIndex } from '../../engine/indexing/from-index.ts';
import { searchTerms } from '../../engine/indexing/search-terms.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { listResource, pageQuery } from '../../engine/request/item-pages.ts';
import { isUntracked, requireTenant } from '../../ports/scope.ts';
import type { StoredVectorStore } from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { newObjectId } from '../../protocol/ids.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply } from '../../protocol/reply.ts';
import { endpointFor, type Handler } from '../endpoint/endpoint.ts';
import type { Route } from '../endpoint/routes.ts';
import { type NewFiles, StoreFiles } from './add-files.ts';
import { readBatch, readNewStore, readQueries, readStoreChange } from './bodies.ts';
import { FileEndpoints } from './file-endpoints.ts';
import { expiryMs, storeResource } from './resources.ts';
import type { VectorStoresApiSettings } from './settings.ts';
import { storeIn, storeNotFound, storeOver } from './store-in.ts';

/** The routes over these settings. */
export function vectorStoreRoutes(settings: VectorStoresApiSettings): readonly Route[] {
  const stores = new StoreEndpoints(settings);
  const files = new FileEndpoints(settings);
  const on = (method: Route['method'], path: string, run: Handler): Route => ({
    method,
    path: `/vector_stores${path}`,
    endpoint: endpointFor(run, settings),
  });
  return [
    on('POST', '', (request) => stores.create(request)),
    on('GET', '', (request) => stores.list(request)),
    on('GET', '/:id', (request) => stores.retrieve(request)),
    on('POST', '/:id', (request) => stores.update(request)),
    on('DELETE', '/:id', (request) => stores.remove(request)),
    on('POST', '/:id/search', (request) => stores.search(request)),
    on('POST', '/:id/files', (request) => files.add(request)),
    on('GET', '/:id/files', (request) => files.list(request)),
    on('GET', '/:id/files/:file', (request) => files.retrieve(request)),
    on('POST', '/:id/files/:file', (request) => files.update(request)),
    on('DELETE', '/:id/files/:file', (request) => files.remove(request)),
    on('GET', '/:id/files/:file/content', (request) => files.content(request)),
    on('POST', '/:id/file_batches', (request) => files.addBatch(request)),
    on('GET', '/:id/file_batches/:batch', (request) => files.retrieveBatch(request)),
    on('POST', '/:id/file_batches/:batch/cancel', (request) => files.cancelBatch(request)),
    on('GET', '/:id/file_batches/:batch/files', (request) => files.listBatch(request)),
  ];
}

const DEFAULT_RESULTS = 10;

class StoreEndpoints {
  private readonly settings: VectorStoresApiSettings;
  private readonly files: StoreFiles;

  constructor(settings: VectorStoresApiSettings) {
    this.settings = settings;
    this.files = new StoreFiles(settings);
  }

  async create({ body, scope }: EndpointRequest): Promise<JsonReply> {
    const { vectorStores, limits } = this.settings;
    const wanted = readNewStore(body, limits);
    requireTenant(scope, 'A vector store', null);
    const now = Date.now();
    const store: StoredVectorStore = {
      ...{ scope, id: newObjectId('vectorStore'), createdAt: now, lastActiveAt: now },
      ...{ name: wanted.name ?? '', metadata: wanted.metadata ?? {} },
      ...expiryMs(wanted.expires_after),
    };
    // Checked first, so that a vector store with unknown or too many files is not created.
    const files = await this.firstFiles(wanted, store);
    await this.checkRoom(scope);
    await fromIndex(() => vectorStores.index.putStore(store, 'create'));
    if (files) await this.files.store(files);
    return this.answer(store);
  }

  private async firstFiles(
    { file_ids: ids, chunking_strategy }: JsonObject,
    store: StoredVectorStore,
  ): Promise<NewFiles | undefined> {
    if (!Array.isArray(ids) || ids.length === 0) return undefined;
    const { limits, storeLimits } = this.settings;
    const wanted = readBatch({ file_ids: ids, chunking_strategy }, limits, storeLimits);
    return this.files.known(wanted, store, { param: 'file_ids' });
  }

  private async checkRoom(scope: string): Promise<void> {
    const { vectorStores, storeLimits } = this.settings;
    const count = await fromIndex(() => vectorStores.index.countStores(scope));
    if (count < storeLimits.stores) return;
    const message = `You have ${count} vector stores; this server keeps at most ${storeLimits.stores} for you. Delete some first.`;
    throw new ApiError('vector_store_quota_exceeded', message);
  }

  async list({ scope, query }: EndpointRequest): Promise<JsonReply> {
    const { index } = this.settings.vectorStores;
    const wanted = pageQuery(query);
    if (isUntracked(scope)) return jsonReply(listResource([], false));
    const page = await fromIndex(() => index.listStores(scope, wanted));
    if (page.unknown)
      throw storeNotFound(wanted.after ?? wanted.before, wanted.after === undefined ? 'before' : 'after');
    const shown = page.entries.map(async (store) => storeResource(store, await this.counts(store)));
    return jsonReply(listResource(await Promise.all(shown), page.hasMore));
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    return this.answer(await storeIn(request, this.settings.vectorStores.index));
  }

  async update(request: EndpointRequest): Promise<JsonReply> {
    const { vectorStores, limits } = this.settings;
    const change = readStoreChange(request.body, limits);
    const old = await storeIn(request, vectorStores.index);
    const { expiresAfterMs, ...store } = old;
    const kept = expiresAfterMs === undefined ? {} : { expiresAfterMs };
    const changed: StoredVectorStore = {
      ...store,
      name: change.name ?? store.name,
      metadata: change.metadata === undefined ? store.metadata : (change.metadata ?? {}),
      lastActiveAt: Date.now(),
      ...(change.expires_after === undefined ? kept : expiryMs(change.expires_after)),
    };
    if (!(await fromIndex(() => vectorStores.index.putStore(changed, 'replace')))) throw storeOver(old);
    return this.answer(changed);
  }

  async remove(request: EndpointRequest): Promise<JsonReply> {
    const { vectorStores } = this.settings;
    const { scope, id } = await storeIn(request, vectorStores.index);
    if (!(await fromIndex(() => vectorStores.index.deleteStore({ scope, id })))) throw storeNotFound(id);
    await vectorStores.stopRemoved(id);
    return jsonReply({ id, object: 'vector_store.deleted', deleted: true });
  }

  async search(request: EndpointRequest): Promise<JsonReply> {
    const { vectorStores, limits, storeLimits } = this.settings;
    const { scope, signal } = request;
    // The embeddings server receives the query.
    const guards = collectGuards(request, this.settings);
    const body = guards && isRecord(request.body) ? await guardBody(request.body, guards) : request.body;
    const queries = readQueries(body, limits, storeLimits);
    // The cast: read as an object just before.
    const terms = searchTerms(body as JsonObject);
    const store = await storeIn(request, vectorStores.index);
    const search = { scope, stores: [store.id], queries, terms, limit: terms.maxResults ?? DEFAULT_RESULTS };
    const found = await vectorStores.search(search, signal);
    await vectorStores.touch(store);
    return jsonReply({
      object: 'vector_store.search_results.page',
      search_query: queries,
      data: found.map(({ file, filename, attributes, text, score }) => ({
        file_id: file,
        filename,
        score,
        attributes,
        content: [{ type: 'text', text }],
      })),
      has_more: false,
      next_page: null,
    });
  }

  private async answer(store: StoredVectorStore): Promise<JsonReply> {
    return jsonReply(storeResource(store, await this.counts(store)));
  }

  private counts(store: StoredVectorStore) {
    return fromIndex(() => this.settings.vectorStores.index.countFiles(store));
  }
}
