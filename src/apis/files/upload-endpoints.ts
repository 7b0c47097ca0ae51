/** OpenAI's Uploads API: a long file sent in parts, each of which any process may receive. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { fromFiles } from '../../ports/files/file-store.ts';
import { requireTenant } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { newObjectId, quoteId } from '../../protocol/ids.ts';
import { type JsonReply, jsonReply, unixSeconds } from '../../protocol/reply.ts';
import { endpointFor, type Handler } from '../endpoint/endpoint.ts';
import { fileTooLarge, formType, maxFormBytes } from '../endpoint/forms/multipart.ts';
import { NO_BYTES, receiveForm } from '../endpoint/forms/upload-form.ts';
import type { UploadSlots } from '../endpoint/forms/upload-slots.ts';
import { notForAnthropic } from '../endpoint/models.ts';
import type { Route } from '../endpoint/routes.ts';
import type { FileLimits } from './limits.ts';
import { PendingUploads, uploadResource } from './pending-uploads.ts';
import type { FilesSettings } from './settings.ts';
import { completeBody, uploadBody } from './upload-bodies.ts';

/** OpenAI's limit of a part. */
const MAX_PART_BYTES = 64 * 1024 * 1024;

/** The routes over these settings; `slots` are those of the other uploads. */
export function uploadRoutes(settings: FilesSettings, slots: UploadSlots): readonly Route[] {
  const { fileLimits, formParser } = settings;
  const partLimits: FileLimits = { ...fileLimits, fileBytes: Math.min(fileLimits.fileBytes, MAX_PART_BYTES) };
  const uploads = new PendingUploads(settings.files, fileLimits);
  /** Uploads that are being completed here. */
  const completing = new Set<string>();
  const on = (handler: Handler) => notForAnthropic(endpointFor(handler, settings), settings);

  function refuseWhileCompleting({ id }: { readonly id: string }): void {
    if (!completing.has(id)) return;
    throw new ApiError('invalid_value', `Upload ${quoteId(id)} is being completed.`, { param: 'upload_id' });
  }

  async function create({ scope, body }: EndpointRequest): Promise<JsonReply> {
    requireTenant(scope, 'An upload', null);
    return jsonReply(uploadResource(await uploads.create(scope, uploadBody(body, fileLimits)), 'pending'));
  }

  async function addPart(request: EndpointRequest): Promise<JsonReply> {
    const { scope, headers, bytes = NO_BYTES } = request;
    const type = formType(headers);
    const upload = await uploads.find(scope, String(request.params.id));
    if (Number(headers.get('content-length')) > maxFormBytes(partLimits)) throw fileTooLarge(partLimits);
    const slot = slots.begin(request);
    const id = newObjectId('part');
    try {
      const part = await receiveForm(
        bytes,
        formParser(type),
        partLimits,
        ({ content }) => uploads.addPart(upload, id, content, slot),
        { part: 'data', signal: slot.signal },
      );
      const created_at = unixSeconds(part.createdAt);
      return jsonReply({ id, object: 'upload.part', created_at, upload_id: upload.id });
    } finally {
      slot.end();
    }
  }

  async function complete(request: EndpointRequest): Promise<JsonReply> {
    const { scope } = request;
    const completion = completeBody(request.body);
    const upload = await uploads.find(scope, String(request.params.id));
    const before = await uploads.findFile(upload);
    // A client that has not seen its answer asks again.
    if (before) return jsonReply(uploadResource(upload, 'completed', before));
    refuseWhileCompleting(upload);
    const slot = slots.begin(request);
    completing.add(upload.id);
    try {
      slot.count(upload.bytes, await fromFiles(() => settings.files.usage(scope)));
      return jsonReply(uploadResource(upload, 'completed', await uploads.complete(upload, completion)));
    } finally {
      completing.delete(upload.id);
      slot.end();
    }
  }

  async function cancel(request: EndpointRequest): Promise<JsonReply> {
    const upload = await uploads.find(request.scope, String(request.params.id));
    if (await uploads.findFile(upload)) {
      throw new ApiError('invalid_value', `Upload ${quoteId(upload.id)} is completed.`, { param: 'upload_id' });
    }
    refuseWhileCompleting(upload);
    await uploads.remove(upload);
    return jsonReply(uploadResource(upload, 'cancelled'));
  }

  return [
    { method: 'POST', path: '/uploads', endpoint: on(create) },
    { method: 'POST', path: '/uploads/:id/parts', endpoint: on(addPart), readsBytes: true },
    { method: 'POST', path: '/uploads/:id/complete', endpoint: on(complete) },
    { method: 'POST', path: '/uploads/:id/cancel', endpoint: on(cancel) },
  ];
}
