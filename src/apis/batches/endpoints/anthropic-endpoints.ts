/** Anthropic's Message Batches API as functions from a request to a reply, for any framework. */

import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { fromFiles } from '../../../ports/files/file-store.ts';
import { isUntracked, requireTenant } from '../../../ports/scope.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { newObjectId } from '../../../protocol/ids.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply } from '../../../protocol/reply.ts';
import { type Batch, type BatchState, hasEnded, NEW_BATCH } from '../batch.ts';
import { type BatchRecords, batchNotFound } from '../batch-records.ts';
import { MESSAGES_ENDPOINT } from '../lines/check-line.ts';
import type { BatchRunner } from '../running/batch-runner.ts';
import { sealedHeaders } from '../running/line-headers.ts';
import type { BatchesSettings } from '../settings.ts';
import { beginBatch, cancelBatch } from './begin-batch.ts';
import { messageBatch } from './message-batch.ts';
import { type MessageOrder, readMessageOrders } from './new-batch.ts';

const DEFAULT_LIMIT = 20;
/** The largest page. */
export const MAX_LIMIT = 1000;

/** The endpoints over one host's settings. */
export class MessageBatchEndpoints {
  private readonly settings: BatchesSettings;
  private readonly records: BatchRecords;
  private readonly runner: BatchRunner;

  constructor(settings: BatchesSettings, records: BatchRecords, runner: BatchRunner) {
    this.settings = settings;
    this.records = records;
    this.runner = runner;
  }

  async create(request: EndpointRequest): Promise<JsonReply> {
    const { settings, records, runner } = this;
    const { scope, body, headers } = request;
    requireTenant(scope, 'A batch', null);
    if (!settings.apis.serves('/messages')) throw new ApiError('not_found', 'This server does not serve messages.');
    const orders = readMessageOrders(body, settings.limits, settings.batchLimits.lines);
    const key = { scope, id: newObjectId('msgbatch') };
    const input = { scope, id: newObjectId('file') };
    const expiresAt = Date.now() + settings.batchLimits.windowMs;
    const details = () => ({
      ...{ filename: `${key.id}_input.jsonl`, purpose: 'batch', contentType: 'application/jsonl' },
      expiresAt: expiresAt + settings.batchLimits.keptMs,
    });
    await fromFiles(() =>
      settings.files.put({
        ...input,
        createdAt: Date.now(),
        content: inputPieces(orders, settings.batchLimits.lineBytes),
        details,
      }),
    );
    const state: BatchState = {
      ...NEW_BATCH,
      kind: 'msgbatch',
      endpoint: MESSAGES_ENDPOINT,
      inputFileId: input.id,
      expiresAt,
      metadata: null,
      headers: sealedHeaders(headers, key, settings.sealer),
      total: orders.length,
    };
    try {
      return jsonReply(await this.resource(await beginBatch(key, state, settings, records, runner)));
    } catch (error) {
      await fromFiles(() => settings.files.delete(input)).catch(() => {});
      throw error;
    }
  }

  async list(request: EndpointRequest): Promise<JsonReply> {
    const { scope, query } = request;
    const limit =
      query.limit === undefined ? DEFAULT_LIMIT : /^\d{1,4}$/.test(String(query.limit)) ? Number(query.limit) : 0;
    if (limit < 1 || limit > MAX_LIMIT)
      throw new ApiError('invalid_value', `limit: expected a whole number from 1 to ${MAX_LIMIT}.`, { param: 'limit' });
    const cursor = (value: unknown) => (value === undefined ? undefined : String(value));
    const [after, before] = [cursor(query.after_id), cursor(query.before_id)];
    const none = { batches: [], hasMore: false };
    const { batches, hasMore } = isUntracked(scope)
      ? none
      : await this.records.page(scope, 'msgbatch', { limit, order: 'desc', after, before });
    const data = await Promise.all(batches.map((batch) => this.resource(batch)));
    return jsonReply({ data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null });
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    const batch = await this.find(request);
    await this.runner.revive(batch);
    return jsonReply(await this.resource(batch));
  }

  async cancel(request: EndpointRequest): Promise<JsonReply> {
    const batch = await this.find(request);
    const cancelled = await cancelBatch(batch, this.records, this.runner);
    if (!cancelled) throw batchNotFound(batch.id, 'message_batch_id');
    return jsonReply(await this.resource(cancelled));
  }

  async results(request: EndpointRequest): Promise<Reply> {
    const batch = await this.find(request);
    const { scope, id, state } = batch;
    if (!hasEnded(batch)) {
      const message = `Batch ${id} has no results yet: its processing has not ended.`;
      throw new ApiError('batch_in_progress', message, { param: 'message_batch_id' });
    }
    const fileId = state.outputFileId;
    const file =
      fileId === undefined ? undefined : await fromFiles(() => this.settings.files.get({ scope, id: fileId }));
    const bytes = file && (await fromFiles(() => this.settings.files.read(file)));
    if (!file || !bytes) throw batchNotFound(id, 'message_batch_id');
    const headers = {
      'content-type': 'application/x-jsonl',
      'content-length': String(file.bytes),
      'cache-control': 'private, no-store',
    };
    return { status: 200, headers, body: '', bytes };
  }

  async remove(request: EndpointRequest): Promise<JsonReply> {
    const batch = await this.find(request);
    const { scope, id, state } = batch;
    if (!hasEnded(batch)) {
      const message = `Batch ${id} cannot be deleted while it is being processed: cancel it first.`;
      throw new ApiError('batch_in_progress', message, { param: 'message_batch_id' });
    }
    if (!(await this.records.delete(batch))) throw batchNotFound(id, 'message_batch_id');
    for (const fileId of [state.inputFileId, state.outputFileId])
      if (fileId !== undefined) await fromFiles(() => this.settings.files.delete({ scope, id: fileId }));
    return jsonReply({ id, type: 'message_batch_deleted' });
  }

  /** The place of the results is a path: clients put their own base URL before it, whatever proxies are in between. */
  private async resource(batch: Batch): Promise<JsonObject> {
    return messageBatch(batch, await this.runner.counts(batch), `${MESSAGES_ENDPOINT}/batches/${batch.id}/results`);
  }

  private find(request: EndpointRequest): Promise<Batch> {
    return this.records.require(request, 'msgbatch', 'message_batch_id');
  }
}

/** Throws `request_too_large` for a request that is longer than a line may be. */
async function* inputPieces(orders: readonly MessageOrder[], maxBytes: number): AsyncGenerator<Uint8Array, void> {
  for (const [index, { custom_id, params }] of orders.entries()) {
    const line = Buffer.from(
      `${JSON.stringify({ custom_id, method: 'POST', url: MESSAGES_ENDPOINT, body: params })}\n`,
    );
    if (line.length > maxBytes + 1) {
      const message = `requests.${index}: the request has more than ${maxBytes} bytes.`;
      throw new ApiError('request_too_large', message, { param: `requests[${index}]` });
    }
    yield line;
  }
}
