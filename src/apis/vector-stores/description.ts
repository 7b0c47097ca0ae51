/** What the OpenAPI document says of vector stores. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { JsonObject } from '../../protocol/record.ts';
import {
  type ApiDescription,
  anyObject,
  deletion,
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
} from '../endpoint/operation.ts';
import { bodySchemas } from './bodies.ts';

/** The operations of `vectorStoreRoutes`. */
export function describeVectorStores(): ApiDescription {
  const schemas = bodySchemas();
  const body = (name: keyof typeof schemas) => ({ schema: toJsonSchema(schemas[name]) });
  const { properties, ...query } = toJsonSchema(schemas.query);
  const terms = {
    filters: { ...orNull(anyObject), description: 'Selects files by their attributes.' },
    max_num_results: orNull({ type: 'integer', minimum: 1, maximum: 50 }),
    ranking_options: orNull(anyObject),
  };
  const [store, file, batch] = ['VectorStore', 'VectorStoreFile', 'VectorStoreFileBatch'].map(ref) as [
    JsonObject,
    JsonObject,
    JsonObject,
  ];
  const status = oneOf('in_progress', 'completed', 'failed', 'cancelled');
  const files = { summary: 'Lists the files', query: { ...PAGE_QUERY, filter: status }, answer: pageOf(file) };
  const content = listOf(objectWith({ type: { const: 'text' }, text }));
  const attributes = orNull({ type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } });
  const counts = objectWith({
    ...{ in_progress: integer, completed: integer, failed: integer, cancelled: integer, total: integer },
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
        query: PAGE_QUERY,
        answer: pageOf(store),
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
        answer: deletion('vector_store.deleted'),
      },
      'POST /vector_stores/:id/search': {
        id: 'searchVectorStore',
        summary: 'Searches the files of a vector store',
        // The cast: it is the schema of an object.
        body: { schema: { ...query, properties: { ...(properties as JsonObject), ...terms } } },
        answer: resource('vector_store.search_results.page', {
          ...{ search_query: listOf(text), has_more: { type: 'boolean' }, next_page: orNull(text) },
          data: listOf(objectWith({ file_id: text, filename: text, score: { type: 'number' }, attributes, content })),
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
        answer: deletion('vector_store.file.deleted'),
      },
      'GET /vector_stores/:id/files/:file/content': {
        id: 'retrieveVectorStoreFileContent',
        summary: 'The texts that are searched of a file',
        answer: resource('vector_store.file_content.page', {
          ...{ file_id: text, filename: text, attributes, data: content },
          ...{ has_more: { type: 'boolean' }, next_page: orNull(text) },
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
      VectorStore: resource('vector_store', {
        ...{ id: text, created_at: seconds, name: text, usage_bytes: integer, file_counts: counts, metadata },
        ...{ status: oneOf('expired', 'in_progress', 'completed'), last_active_at: seconds },
        ...{ expires_after: orNull(objectWith({ anchor: text, days: integer })), expires_at: orNull(seconds) },
      }),
      VectorStoreFile: resource('vector_store.file', {
        ...{ id: text, usage_bytes: integer, created_at: seconds, vector_store_id: text, status, attributes },
        last_error: orNull(objectWith({ code: text, message: text })),
        chunking_strategy: objectWith({ type: text }),
      }),
      VectorStoreFileBatch: resource('vector_store.files_batch', {
        ...{ id: text, created_at: seconds, vector_store_id: text, status, file_counts: counts },
      }),
    },
  };
}
