/** The endpoints of the files and batches of a vector store. */

import { fromIndex } from '../../engine/indexing/from-index.ts';
import { removeGone } from '../../engine/indexing/remove-gone.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { listResource, pageQuery } from '../../engine/request/item-pages.ts';
import {
  type IndexingStatus,
  isStoreExpired,
  type StoredVectorStore,
  type VectorBatch,
  type VectorFile,
  type VectorFilesQuery,
  type VectorIndex,
  type VectorPage,
} from '../../ports/vectors/vector-index.ts';
import { ApiError } from '../../protocol/errors.ts';
import { newObjectId } from '../../protocol/ids.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply, withHeaders } from '../../protocol/reply.ts';
import { StoreFiles } from './add-files.ts';
import { readAttributes, readBatch, readNewFile, wantedFile } from './bodies.ts';
import { contentReply } from './content-reply.ts';
import { batchResource, fileResource } from './resources.ts';
import type { VectorStoresApiSettings } from './settings.ts';
import { batchIn, fileIn, fileNotInStore, keptFileIn, storeIn, storeOver } from './store-in.ts';

/** SDKs that wait for a file ask again after this time. */
const POLL_HEADERS = { 'openai-poll-after-ms': '500' };

/** Files and batches. */
export class FileEndpoints {
  private readonly settings: VectorStoresApiSettings;
  private readonly index: VectorIndex;
  private readonly files: StoreFiles;

  constructor(settings: VectorStoresApiSettings) {
    this.settings = settings;
    this.index = settings.vectorStores.index;
    this.files = new StoreFiles(settings);
  }

  async add(request: EndpointRequest): Promise<JsonReply> {
    const wanted = wantedFile(readNewFile(request.body, this.settings.limits));
    const store = await storeIn(request, this.index);
    const known = await this.files.known([wanted], store, { param: 'file_id' });
    await this.files.store(known);
    const { scope, id } = store;
    return answerFile(await fromIndex(() => this.index.getFile({ scope, store: id, id: wanted.id })), wanted.id);
  }

  async list(request: EndpointRequest): Promise<JsonReply> {
    return this.page(request, undefined);
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    const file = await keptFileIn(request, this.settings.vectorStores);
    return answerFile(file, file.id);
  }

  async update(request: EndpointRequest): Promise<JsonReply> {
    const { attributes } = readAttributes(request.body, this.settings.limits);
    if (attributes === undefined)
      throw new ApiError('missing_required_parameter', "Missing required parameter: 'attributes'.", {
        param: 'attributes',
      });
    const file = await keptFileIn(request, this.settings.vectorStores);
    return answerFile(await fromIndex(() => this.index.setAttributes(file, attributes ?? {})), file.id);
  }

  async remove(request: EndpointRequest): Promise<JsonReply> {
    const file = await fileIn(request, this.index);
    if (!(await fromIndex(() => this.index.deleteFile(file)))) throw fileNotInStore(file.id);
    await this.settings.vectorStores.stopRemoved(file.store);
    return jsonReply({ id: file.id, object: 'vector_store.file.deleted', deleted: true });
  }

  async content(request: EndpointRequest): Promise<Reply | JsonReply> {
    const file = await keptFileIn(request, this.settings.vectorStores);
    const store = await storeIn(request, this.index);
    // Its texts may be gone.
    if (isStoreExpired(store, Date.now())) throw storeOver(store);
    return contentReply(file, this.index);
  }

  async addBatch(request: EndpointRequest): Promise<JsonReply> {
    const { body } = request;
    const { limits, storeLimits } = this.settings;
    const wanted = readBatch(body, limits, storeLimits);
    const store = await storeIn(request, this.index);
    const batch = { scope: store.scope, store: store.id, id: newObjectId('fileBatch'), createdAt: Date.now() };
    const named = (body as JsonObject).files ? 'files' : 'file_ids';
    const known = await this.files.known(wanted, store, { param: named, batch });
    await this.files.store(known);
    return this.answerBatch(known.batch ?? batch);
  }

  async retrieveBatch(request: EndpointRequest): Promise<JsonReply> {
    return this.answerBatch(await batchIn(request, this.index));
  }

  async cancelBatch(request: EndpointRequest): Promise<JsonReply> {
    const batch = await batchIn(request, this.index);
    await fromIndex(() => this.index.cancelBatch(batch));
    await this.settings.vectorStores.stopRemoved(batch.store);
    return this.answerBatch(batch);
  }

  async listBatch(request: EndpointRequest): Promise<JsonReply> {
    return this.page(request, await batchIn(request, this.index));
  }

  private async answerBatch(batch: VectorBatch): Promise<JsonReply> {
    return withHeaders(jsonReply(batchResource(batch, await this.files.countBatch(batch))), POLL_HEADERS);
  }

  private async page(request: EndpointRequest, batch: VectorBatch | undefined): Promise<JsonReply> {
    const query = pageQuery(request.query);
    const status = statusFilter(request.query);
    const store = await storeIn(request, this.index);
    const of = { ...query, ...(status ? { status } : {}), ...(batch ? { batch: batch.id } : {}) };
    const { entries, hasMore } = await this.listFiles(store, of, request.signal);
    return jsonReply(listResource(entries.map(fileResource), hasMore));
  }

  /** The page without files whose uploads are gone. It is full if others follow: SDKs end the list at a page without files. */
  private async listFiles(
    store: StoredVectorStore,
    query: VectorFilesQuery,
    signal: AbortSignal,
  ): Promise<VectorPage<VectorFile>> {
    for (;;) {
      signal.throwIfAborted();
      const page = await fromIndex(() => this.index.listFiles(store, query));
      const { after, before } = query;
      if (page.unknown) throw fileNotInStore(after ?? before, after === undefined ? 'before' : 'after');
      const gone = await removeGone(
        page.entries.filter(({ status }) => status === 'completed'),
        this.settings.vectorStores,
      );
      if (gone.size === 0) return page;
    }
  }
}

function answerFile(file: VectorFile | undefined, id: string): JsonReply {
  if (!file) throw fileNotInStore(id);
  return withHeaders(jsonReply(fileResource(file)), POLL_HEADERS);
}

const STATUSES: ReadonlySet<unknown> = new Set<IndexingStatus>(['in_progress', 'completed', 'failed', 'cancelled']);

function statusFilter({ filter }: JsonObject): IndexingStatus | undefined {
  // The cast: it is among them.
  if (filter === undefined || STATUSES.has(filter)) return filter as IndexingStatus | undefined;
  const message = `Invalid 'filter': supported values are: ${[...STATUSES].join(', ')}.`;
  throw new ApiError('invalid_value', message, { param: 'filter' });
}
