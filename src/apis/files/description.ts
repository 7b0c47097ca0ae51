/** What the OpenAPI document says of the Files and Uploads APIs. */
import { toJsonSchema } from '../../protocol/json/json-schema.ts';
import type { ApiDescription } from '../endpoint/operation.ts';
import * as shape from '../endpoint/shape.ts';
import { MAX_LIMIT } from './list-query.ts';
import { completeSchema, uploadSchema } from './upload-bodies.ts';
import { PURPOSES } from './upload-details.ts';

/** The operations of `fileRoutes`. */
export function describeFiles(): ApiDescription {
  const upload = shape.ref('Upload');
  return {
    tag: 'Files',
    summary: 'Files that requests name by their id.',
    operations: {
      'POST /files': {
        id: 'createFile',
        summary: 'Uploads a file',
        body: {
          type: 'multipart/form-data',
          schema: shape.objectWith(
            { file: shape.bytes, purpose: shape.oneOf(...PURPOSES) },
            { 'expires_after[anchor]': { const: 'created_at' }, 'expires_after[seconds]': shape.text },
          ),
        },
        answer: shape.ref('File'),
      },
      'GET /files': {
        id: 'listFiles',
        summary: 'Lists the files',
        query: {
          limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
          ...{
            order: shape.PAGE_QUERY.order ?? shape.text,
            after: shape.PAGE_QUERY.after ?? shape.text,
            purpose: shape.text,
          },
        },
        answer: shape.pageOf(shape.ref('File')),
      },
      'GET /files/:id': { id: 'retrieveFile', summary: 'Describes a file', answer: shape.ref('File') },
      'GET /files/:id/content': {
        id: 'downloadFile',
        summary: 'Downloads a file',
        description:
          'The media type is that of the upload where it is safe to show; a header `Range` is answered with a part.',
        answer: shape.bytes,
        answerType: '*/*',
      },
      'DELETE /files/:id': { id: 'deleteFile', summary: 'Deletes a file', answer: shape.deletion('file') },
      'POST /uploads': {
        id: 'createUpload',
        summary: 'Begins an upload in parts',
        body: { schema: toJsonSchema(uploadSchema()) },
        answer: upload,
      },
      'POST /uploads/:id/parts': {
        id: 'addUploadPart',
        summary: 'Adds a part to an upload',
        body: { type: 'multipart/form-data', schema: shape.objectWith({ data: shape.bytes }) },
        answer: shape.resource('upload.part', { id: shape.text, created_at: shape.seconds, upload_id: shape.text }),
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
      File: shape.resource(
        'file',
        {
          ...{
            id: shape.text,
            bytes: shape.integer,
            created_at: shape.seconds,
            filename: shape.text,
            purpose: shape.text,
            status: shape.text,
          },
          status_details: shape.orNull(shape.text),
        },
        { expires_at: shape.seconds },
      ),
      Upload: shape.resource(
        'upload',
        {
          ...{
            id: shape.text,
            bytes: shape.integer,
            created_at: shape.seconds,
            expires_at: shape.seconds,
            filename: shape.text,
            purpose: shape.text,
          },
          status: shape.oneOf('pending', 'completed', 'cancelled'),
        },
        { file: shape.orNull(shape.ref('File')) },
      ),
    },
  };
}
