/** OpenAI's Batch API as functions from a request to a reply, for any framework. */

import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { listResource, pageQuery } from '../../../engine/request/item-pages.ts';
import { fromFiles } from '../../../ports/files/file-store.ts';
import { isUntracked, requireTenant } from '../../../ports/scope.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { isObjectId, newObjectId, quoteId, toPrintableId } from '../../../protocol/ids.ts';
import { type JsonReply, jsonReply } from '../../../protocol/reply.ts';
import { type Batch, type BatchState, hasEnded, NEW_BATCH } from '../batch.ts';
import { type BatchRecords, batchNotFound } from '../batch-records.ts';
import type { BatchRunner } from '../running/batch-runner.ts';
import { sealedHeaders } from '../running/line-headers.ts';
import type { BatchesSettings } from '../settings.ts';
import { batchResource } from './batch-resource.ts';
import { beginBatch, cancelBatch } from './begin-batch.ts';
import { readNewBatch } from './new-batch.ts';

/** The endpoints whose requests a batch may hold, as far as the host serves them. */
const ENDPOINTS = ['/v1/responses', '/v1/chat/completions', '/v1/embeddings'] as const;

/** The endpoints over one host's settings. */
export class BatchEndpoints {
  private readonly settings: BatchesSettings;
  private readonly records: BatchRecords;
  private readonly runner: BatchRunner;

  constructor(settings: BatchesSettings, records: BatchRecords, runner: BatchRunner) {
    this.settings = settings;
    this.records = records;
    this.runner = runner;
  }

  async create({ scope, body, headers }: EndpointRequest): Promise<JsonReply> {
    const { settings, records, runner } = this;
    requireTenant(scope, 'A batch', null);
    const wanted = readNewBatch(body, settings.limits);
    const { endpoint, input_file_id: inputFileId, metadata, output_expires_after: expiry } = wanted;
    const served = ENDPOINTS.filter((each) => settings.apis.serves(each.slice('/v1'.length)));
    if (!served.some((each) => each === endpoint)) {
      const supported = served.map((each) => `'${each}'`).join(', ');
      const message = `Invalid value: '${toPrintableId(endpoint)}'. Supported values are: ${supported}.`;
      throw new ApiError('invalid_value', message, { param: 'endpoint' });
    }
    await this.checkInput(scope, inputFileId);
    const key = { scope, id: newObjectId('batch') };
    const state: BatchState = {
      ...NEW_BATCH,
      kind: 'batch',
      endpoint,
      inputFileId,
      expiresAt: Date.now() + settings.batchLimits.windowMs,
      metadata: metadata ?? null,
      outputSeconds: expiry?.seconds,
      headers: sealedHeaders(headers, key, settings.sealer),
      total: 0,
    };
    return this.reply(await beginBatch(key, state, settings, records, runner));
  }

  async list({ scope, query }: EndpointRequest): Promise<JsonReply> {
    const { limit, after } = pageQuery({ limit: query.limit, after: query.after });
    if (isUntracked(scope)) return jsonReply(listResource([], false));
    const { batches, hasMore } = await this.records.page(scope, 'batch', { limit, after, order: 'desc' });
    const resources = batches.map(async (batch) => batchResource(batch, await this.runner.counts(batch)));
    return jsonReply(listResource(await Promise.all(resources), hasMore));
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    const batch = await this.find(request);
    await this.runner.revive(batch);
    return this.reply(batch);
  }

  async cancel(request: EndpointRequest): Promise<JsonReply> {
    const batch = await this.find(request);
    const { status } = batch.state;
    if ((hasEnded(batch) && status !== 'cancelled') || status === 'finalizing') {
      const message = `Cannot cancel a batch with status '${status}'.`;
      throw new ApiError('invalid_value', message, { param: 'batch_id' });
    }
    const cancelled = await cancelBatch(batch, this.records, this.runner);
    if (!cancelled) throw batchNotFound(batch.id, 'batch_id');
    return this.reply(cancelled);
  }

  private async reply(batch: Batch): Promise<JsonReply> {
    return jsonReply(batchResource(batch, await this.runner.counts(batch)));
  }

  private find(request: EndpointRequest): Promise<Batch> {
    return this.records.require(request, 'batch', 'batch_id');
  }

  /** Throws `ApiError` for a file that is no input of a batch. */
  private async checkInput(scope: string, id: string): Promise<void> {
    const { files, batchLimits } = this.settings;
    const file = isObjectId('file', id) ? await fromFiles(() => files.get({ scope, id })) : undefined;
    const param = 'input_file_id';
    if (!file) throw new ApiError('file_not_found', `No such File object: ${quoteId(id)}.`, { param });
    if (file.purpose !== 'batch') {
      const message = `The file ${quoteId(id)} has the purpose '${toPrintableId(file.purpose)}'; the input of a batch has 'batch'.`;
      throw new ApiError('invalid_value', message, { param });
    }
    if (file.bytes <= batchLimits.inputBytes) return;
    const message = `The input of a batch may have ${batchLimits.inputBytes} bytes; this file has ${file.bytes}.`;
    throw new ApiError('file_too_large', message, { param });
  }
}
