/** What the OpenAPI document says of both batch APIs. */
import { toJsonSchema } from '../../../protocol/json/json-schema.ts';
import type { ApiDescription } from '../../endpoint/operation.ts';
import * as shape from '../../endpoint/shape.ts';
import { MAX_LIMIT } from './anthropic-endpoints.ts';
import { batchSchemas, CUSTOM_ID } from './new-batch.ts';

/** The operations of `batchRoutes`. */
export function describeBatches(): ApiDescription {
  const { limit = shape.integer, after = shape.text } = shape.PAGE_QUERY;
  const time = shape.orNull(shape.seconds);
  const cursor = {
    limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
    after_id: shape.text,
    before_id: shape.text,
  };
  const [answer, message] = [shape.ref('Batch'), shape.ref('MessageBatch')];
  const anthropic = { errors: 'anthropic' } as const;
  const request = shape.objectWith({
    custom_id: { type: 'string', pattern: CUSTOM_ID.source },
    params: { ...shape.anyObject, description: 'The body of `POST /messages`, without `stream`.' },
  });
  return {
    tag: 'Batches',
    summary: 'Many requests in one file, answered in the background.',
    operations: {
      'POST /batches': {
        id: 'createBatch',
        summary: 'Creates a batch',
        body: { schema: toJsonSchema(batchSchemas().batch) },
        answer,
      },
      'GET /batches': {
        id: 'listBatches',
        summary: 'Lists the batches',
        query: { limit, after },
        answer: shape.pageOf(answer),
      },
      'GET /batches/:id': { id: 'retrieveBatch', summary: 'Describes a batch', answer },
      'POST /batches/:id/cancel': { id: 'cancelBatch', summary: 'Ends a batch', answer },
      'POST /messages/batches': {
        ...anthropic,
        id: 'createMessageBatch',
        summary: 'Creates a batch of messages',
        body: { schema: shape.objectWith({ requests: { ...shape.listOf(request), minItems: 1 } }) },
        answer: message,
      },
      'GET /messages/batches': {
        ...anthropic,
        id: 'listMessageBatches',
        summary: 'Lists the batches of messages',
        query: cursor,
        answer: shape.objectWith({
          ...{ data: shape.listOf(message), has_more: { type: 'boolean' } },
          ...{ first_id: shape.orNull(shape.text), last_id: shape.orNull(shape.text) },
        }),
      },
      'GET /messages/batches/:id': {
        ...anthropic,
        id: 'retrieveMessageBatch',
        summary: 'Describes a batch of messages',
        answer: message,
      },
      'POST /messages/batches/:id/cancel': {
        ...anthropic,
        id: 'cancelMessageBatch',
        summary: 'Ends a batch of messages',
        answer: message,
      },
      'GET /messages/batches/:id/results': {
        ...anthropic,
        id: 'retrieveMessageBatchResults',
        summary: 'The results of a batch of messages, a line of JSON for each request',
        answer: { ...shape.text, contentMediaType: 'application/x-jsonl' },
        answerType: 'application/x-jsonl',
      },
      'DELETE /messages/batches/:id': {
        ...anthropic,
        id: 'deleteMessageBatch',
        summary: 'Deletes a batch of messages that has ended',
        answer: shape.objectWith({ id: shape.text, type: { const: 'message_batch_deleted' } }),
      },
    },
    schemas: {
      Batch: shape.resource(
        'batch',
        {
          ...{
            id: shape.text,
            endpoint: shape.text,
            input_file_id: shape.text,
            completion_window: shape.text,
            status: shape.text,
          },
          ...{
            errors: shape.orNull(shape.anyObject),
            output_file_id: shape.orNull(shape.text),
            error_file_id: shape.orNull(shape.text),
          },
          ...{
            created_at: shape.seconds,
            expires_at: time,
            in_progress_at: time,
            finalizing_at: time,
            completed_at: time,
          },
          ...{
            failed_at: time,
            expired_at: time,
            cancelling_at: time,
            cancelled_at: time,
            metadata: shape.orNull(shape.metadata),
          },
          request_counts: shape.objectWith({ total: shape.integer, completed: shape.integer, failed: shape.integer }),
          usage: shape.objectWith({
            input_tokens: shape.integer,
            output_tokens: shape.integer,
            total_tokens: shape.integer,
          }),
        },
        { model: shape.text },
      ),
      MessageBatch: shape.objectWith({
        ...{
          id: shape.text,
          type: { const: 'message_batch' },
          created_at: shape.orNull(shape.text),
          expires_at: shape.orNull(shape.text),
        },
        processing_status: shape.oneOf('in_progress', 'canceling', 'ended'),
        request_counts: shape.objectWith({
          ...{
            processing: shape.integer,
            succeeded: shape.integer,
            errored: shape.integer,
            canceled: shape.integer,
            expired: shape.integer,
          },
        }),
        ...{
          ended_at: shape.orNull(shape.text),
          cancel_initiated_at: shape.orNull(shape.text),
          archived_at: shape.orNull(shape.text),
        },
        results_url: shape.orNull(shape.text),
      }),
    },
  };
}
