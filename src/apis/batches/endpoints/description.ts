/** What the OpenAPI document says of both batch APIs. */
import { toJsonSchema } from '../../../protocol/json/json-schema.ts';
import {
  type ApiDescription,
  anyObject,
  integer,
  listOf,
  metadata,
  objectWith,
  oneOf,
  orNull,
  PAGE_QUERY,
  pageOf,
  ref,
  resource,
  seconds,
  text,
} from '../../endpoint/operation.ts';
import { MAX_LIMIT } from './anthropic-endpoints.ts';
import { batchSchemas, CUSTOM_ID } from './new-batch.ts';

/** The operations of `batchRoutes`. */
export function describeBatches(): ApiDescription {
  const { limit = integer, after = text } = PAGE_QUERY;
  const time = orNull(seconds);
  const cursor = { limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT }, after_id: text, before_id: text };
  const [answer, message] = [ref('Batch'), ref('MessageBatch')];
  const anthropic = { errors: 'anthropic' } as const;
  const request = objectWith({
    custom_id: { type: 'string', pattern: CUSTOM_ID.source },
    params: { ...anyObject, description: 'The body of `POST /messages`, without `stream`.' },
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
        answer: pageOf(answer),
      },
      'GET /batches/:id': { id: 'retrieveBatch', summary: 'Describes a batch', answer },
      'POST /batches/:id/cancel': { id: 'cancelBatch', summary: 'Ends a batch', answer },
      'POST /messages/batches': {
        ...anthropic,
        id: 'createMessageBatch',
        summary: 'Creates a batch of messages',
        body: { schema: objectWith({ requests: { ...listOf(request), minItems: 1 } }) },
        answer: message,
      },
      'GET /messages/batches': {
        ...anthropic,
        id: 'listMessageBatches',
        summary: 'Lists the batches of messages',
        query: cursor,
        answer: objectWith({
          ...{ data: listOf(message), has_more: { type: 'boolean' } },
          ...{ first_id: orNull(text), last_id: orNull(text) },
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
        answer: { ...text, contentMediaType: 'application/x-jsonl' },
        answerType: 'application/x-jsonl',
      },
      'DELETE /messages/batches/:id': {
        ...anthropic,
        id: 'deleteMessageBatch',
        summary: 'Deletes a batch of messages that has ended',
        answer: objectWith({ id: text, type: { const: 'message_batch_deleted' } }),
      },
    },
    schemas: {
      Batch: resource(
        'batch',
        {
          ...{ id: text, endpoint: text, input_file_id: text, completion_window: text, status: text },
          ...{ errors: orNull(anyObject), output_file_id: orNull(text), error_file_id: orNull(text) },
          ...{ created_at: seconds, expires_at: time, in_progress_at: time, finalizing_at: time, completed_at: time },
          ...{ failed_at: time, expired_at: time, cancelling_at: time, cancelled_at: time, metadata: orNull(metadata) },
          request_counts: objectWith({ total: integer, completed: integer, failed: integer }),
          usage: objectWith({ input_tokens: integer, output_tokens: integer, total_tokens: integer }),
        },
        { model: text },
      ),
      MessageBatch: objectWith({
        ...{ id: text, type: { const: 'message_batch' }, created_at: orNull(text), expires_at: orNull(text) },
        processing_status: oneOf('in_progress', 'canceling', 'ended'),
        request_counts: objectWith({
          ...{ processing: integer, succeeded: integer, errored: integer, canceled: integer, expired: integer },
        }),
        ...{ ended_at: orNull(text), cancel_initiated_at: orNull(text), archived_at: orNull(text) },
        results_url: orNull(text),
      }),
    },
  };
}
