/** What the OpenAPI document says of the Files and Uploads APIs. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { JsonObject } from '../../protocol/record.ts';
import {
  type ApiDescription,
  deletion,
  integer,
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
import { MAX_LIMIT } from './list-query.ts';
import { completeSchema, uploadSchema } from './upload-bodies.ts';
import { PURPOSES } from './upload-details.ts';

const BYTES: JsonObject = { type: 'string', contentMediaType: 'application/octet-stream' };

/** The operations of `fileRoutes`. */
export function describeFiles(): ApiDescription {
  const upload = ref('Upload');
  return {
    tag: 'Files',
    summary: 'Files that requests name by their id.',
    operations: {
      'POST /files': {
        id: 'createFile',
        summary: 'Uploads a file',
        body: {
          type: 'multipart/form-data',
          schema: objectWith(
            { file: BYTES, purpose: oneOf(...PURPOSES) },
            { 'expires_after[anchor]': { const: 'created_at' }, 'expires_after[seconds]': text },
          ),
        },
        answer: ref('File'),
      },
      'GET /files': {
        id: 'listFiles',
        summary: 'Lists the files',
        query: {
          limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
          ...{ order: PAGE_QUERY.order ?? text, after: PAGE_QUERY.after ?? text, purpose: text },
        },
        answer: pageOf(ref('File')),
      },
      'GET /files/:id': { id: 'retrieveFile', summary: 'Describes a file', answer: ref('File') },
      'GET /files/:id/content': {
        id: 'downloadFile',
        summary: 'Downloads a file',
        description:
          'The media type is that of the upload where it is safe to show; a header `Range` is answered with a part.',
        answer: BYTES,
        answerType: '*/*',
      },
      'DELETE /files/:id': { id: 'deleteFile', summary: 'Deletes a file', answer: deletion('file') },
      'POST /uploads': {
        id: 'createUpload',
        summary: 'Begins an upload in parts',
        body: { schema: toJsonSchema(uploadSchema()) },
        answer: upload,
      },
      'POST /uploads/:id/parts': {
        id: 'addUploadPart',
        summary: 'Adds a part to an upload',
        body: { type: 'multipart/form-data', schema: objectWith({ data: BYTES }) },
        answer: resource('upload.part', { id: text, created_at: seconds, upload_id: text }),
      },
      'POST /uploads/:id/complete': {
        id: 'completeUpload',
        summary: 'Makes a file of the parts of an upload',
        body: { schema: toJsonSchema(completeSchema()) },
        answer: upload,
      },
      'POST /uploads/:id/cancel': { id: 'cancelUpload', summary: 'Drops an upload', answer: upload },
    },
    schemas: {
      File: resource(
        'file',
        {
          ...{ id: text, bytes: integer, created_at: seconds, filename: text, purpose: text, status: text },
          status_details: orNull(text),
        },
        { expires_at: seconds },
      ),
      Upload: resource(
        'upload',
        {
          ...{ id: text, bytes: integer, created_at: seconds, expires_at: seconds, filename: text, purpose: text },
          status: oneOf('pending', 'completed', 'cancelled'),
        },
        { file: orNull(ref('File')) },
      ),
    },
  };
}
