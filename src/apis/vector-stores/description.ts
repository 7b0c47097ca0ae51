/** What the OpenAPI document says of vector stores. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { JsonObject } from '../../protocol/record.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { bodySchemas } from './bodies.ts';

/** The operations of `vectorStoreRoutes`. */
export function describeVectorStores(): ApiDescription {
  const schemas = bodySchemas();
  const body = (name: keyof typeof schemas) => ({ schema: toJsonSchema(schemas[name]) });
  const { properties, ...query } = toJsonSchema(schemas.query);
  const terms = {
    filters: { ...shape.orNull(shape.anyObject), description: 'Selects files by their attributes.' },
    max_num_results: shape.orNull({ type: 'integer', minimum: 1, maximum: 50 }),
    ranking_options: shape.orNull(shape.anyObject),
  };
  const [store, file, batch] = ['VectorStore', 'VectorStoreFile', 'VectorStoreFileBatch'].map(shape.ref) as [
    JsonObject,
    JsonObject,
    JsonObject,
  ];
  const status = shape.oneOf('in_progress', 'completed', 'failed', 'cancelled');
  const files = {
    summary: 'Lists the files',
    query: { ...shape.PAGE_QUERY, filter: status },
    answer: shape.pageOf(file),
  };
  const content = shape.listOf(shape.objectWith({ type: { const: 'text' }, text: shape.text }));
  const attributes = shape.orNull({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } });
  const counts = shape.objectWith({
    ...{
      in_progress: shape.integer,
      completed: shape.integer,
      failed: shape.integer,
      cancelled: shape.integer,
      total: shape.integer,
    },
  });
  return {
    tag: 'Vector stores',
    summary: 'Files that can be searched, by `file_search` and by clients.',
    operations: {
      'POST /vector_stores': {
        id: 'createVectorStore',
        summary: 'Creates a vector store',
        body: { ...body('newStore'), isOptional: true },
        answer: store,
      },
      'GET /vector_stores': {
        id: 'listVectorStores',
        summary: 'Lists the vector stores',
        query: shape.PAGE_QUERY,
        answer: shape.pageOf(store),
      },
      'GET /vector_stores/:id': { id: 'retrieveVectorStore', summary: 'Describes a vector store', answer: store },
      'POST /vector_stores/:id': {
        id: 'updateVectorStore',
        summary: 'Changes a vector store',
        body: { ...body('storeChange'), isOptional: true },
        answer: store,
      },
      'DELETE /vector_stores/:id': {
        id: 'deleteVectorStore',
        summary: 'Deletes a vector store, and no file',
        answer: shape.deletion('vector_store.deleted'),
      },
      'POST /vector_stores/:id/search': {
        id: 'searchVectorStore',
        summary: 'Searches the files of a vector store',
        // The cast: it is the schema of an object.
        body: { schema: { ...query, properties: { ...(properties as JsonObject), ...terms } } },
        answer: shape.resource('vector_store.search_results.page', {
          ...{
            search_query: shape.listOf(shape.text),
            has_more: { type: 'boolean' },
            next_page: shape.orNull(shape.text),
          },
          data: shape.listOf(
            shape.objectWith({
              file_id: shape.text,
              filename: shape.text,
              score: { type: 'number' },
              attributes,
              content,
            }),
          ),
        }),
      },
      'POST /vector_stores/:id/files': {
        id: 'createVectorStoreFile',
        summary: 'Adds a file',
        body: body('newFile'),
        answer: file,
      },
      'GET /vector_stores/:id/files': { ...files, id: 'listVectorStoreFiles' },
      'GET /vector_stores/:id/files/:file': {
        id: 'retrieveVectorStoreFile',
        summary: 'Describes a file of a vector store',
        answer: file,
      },
      'POST /vector_stores/:id/files/:file': {
        id: 'updateVectorStoreFile',
        summary: 'Gives a file other attributes',
        body: body('attributes'),
        answer: file,
      },
      'DELETE /vector_stores/:id/files/:file': {
        id: 'deleteVectorStoreFile',
        summary: 'Removes a file from a vector store',
        answer: shape.deletion('vector_store.file.deleted'),
      },
      'GET /vector_stores/:id/files/:file/content': {
        id: 'retrieveVectorStoreFileContent',
        summary: 'The texts that are searched of a file',
        answer: shape.resource('vector_store.file_content.page', {
          ...{ file_id: shape.text, filename: shape.text, attributes, data: content },
          ...{ has_more: { type: 'boolean' }, next_page: shape.orNull(shape.text) },
        }),
      },
      'POST /vector_stores/:id/file_batches': {
        id: 'createVectorStoreFileBatch',
        summary: 'Adds several files',
        body: body('batch'),
        answer: batch,
      },
      'GET /vector_stores/:id/file_batches/:batch': {
        id: 'retrieveVectorStoreFileBatch',
        summary: 'How far a batch of files is',
        answer: batch,
      },
      'POST /vector_stores/:id/file_batches/:batch/cancel': {
        id: 'cancelVectorStoreFileBatch',
        summary: 'Ends a batch of files',
        answer: batch,
      },
      'GET /vector_stores/:id/file_batches/:batch/files': { ...files, id: 'listFilesInVectorStoreBatch' },
    },
    schemas: {
      VectorStore: shape.resource('vector_store', {
        ...{
          id: shape.text,
          created_at: shape.seconds,
          name: shape.text,
          usage_bytes: shape.integer,
          file_counts: counts,
          metadata: shape.metadata,
        },
        ...{ status: shape.oneOf('expired', 'in_progress', 'completed'), last_active_at: shape.seconds },
        ...{
          expires_after: shape.orNull(shape.objectWith({ anchor: shape.text, days: shape.integer })),
          expires_at: shape.orNull(shape.seconds),
        },
      }),
      VectorStoreFile: shape.resource('vector_store.file', {
        ...{
          id: shape.text,
          usage_bytes: shape.integer,
          created_at: shape.seconds,
          vector_store_id: shape.text,
          status,
          attributes,
        },
        last_error: shape.orNull(shape.objectWith({ code: shape.text, message: shape.text })),
        chunking_strategy: shape.objectWith({ type: shape.text }),
      }),
      VectorStoreFileBatch: shape.resource('vector_store.files_batch', {
        ...{ id: shape.text, created_at: shape.seconds, vector_store_id: shape.text, status, file_counts: counts },
      }),
    },
  };
}
