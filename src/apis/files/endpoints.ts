/** The endpoints of the Files API as functions from a request to a reply, for any framework. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { listResource } from '../../engine/request/item-pages.ts';
import { fromFiles, type StoredFile } from '../../ports/files/file-store.ts';
import { isUntracked, requireTenant } from '../../ports/scope.ts';
import type { ResponseKey } from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isObjectId, newObjectId, quoteId } from '../../protocol/ids.ts';
import { type JsonReply, jsonReply, type Reply } from '../../protocol/reply.ts';
import { endpointFor, type Handler, reportError } from '../endpoint/endpoint.ts';
import { contentReply, requestedRange } from '../endpoint/forms/content.ts';
import { fileTooLarge, formType, maxFormBytes } from '../endpoint/forms/multipart.ts';
import { type IncomingFile, NO_BYTES, receiveForm } from '../endpoint/forms/upload-form.ts';
import type { UploadSlot, UploadSlots } from '../endpoint/forms/upload-slots.ts';
import { notForAnthropic } from '../endpoint/models.ts';
import type { Route } from '../endpoint/routes.ts';
import { fileResource } from './file-resource.ts';
import { listQuery } from './list-query.ts';
import type { FilesSettings } from './settings.ts';
import { uploadDetails } from './upload-details.ts';
import { uploadRoutes } from './upload-endpoints.ts';

/** The routes over these settings; `slots` count their uploads. */
export function fileRoutes(settings: FilesSettings, slots: UploadSlots): readonly Route[] {
  const endpoints = new FilesEndpoints(settings, slots);
  const on = (handler: Handler) => notForAnthropic(endpointFor(handler, settings), settings);
  return [
    { method: 'POST', path: '/files', endpoint: on((request) => endpoints.create(request)), readsBytes: true },
    { method: 'GET', path: '/files', endpoint: on((request) => endpoints.list(request)) },
    { method: 'GET', path: '/files/:id', endpoint: on((request) => endpoints.retrieve(request)) },
    { method: 'GET', path: '/files/:id/content', endpoint: on((request) => endpoints.content(request)) },
    { method: 'DELETE', path: '/files/:id', endpoint: on((request) => endpoints.remove(request)) },
    ...uploadRoutes(settings, slots),
  ];
}

class FilesEndpoints {
  private readonly settings: FilesSettings;
  private readonly slots: UploadSlots;

  constructor(settings: FilesSettings, slots: UploadSlots) {
    this.settings = settings;
    this.slots = slots;
  }

  async create(request: EndpointRequest): Promise<JsonReply> {
    const { fileLimits: limits, formParser } = this.settings;
    const type = formType(request.headers);
    requireTenant(request.scope, 'An uploaded file', null);
    // Before reading: an upload that is announced as too long need not be sent.
    if (Number(request.headers.get('content-length')) > maxFormBytes(limits)) throw fileTooLarge(limits);
    const slot = this.slots.begin(request);
    try {
      const store = (file: IncomingFile) => this.store(file, request.scope, slot);
      const stored = await receiveForm(request.bytes ?? NO_BYTES, formParser(type), limits, store, slot);
      return jsonReply(fileResource(stored));
    } finally {
      slot.end();
    }
  }

  private async store(file: IncomingFile, scope: string, slot: UploadSlot): Promise<StoredFile> {
    const { files, fileLimits: limits } = this.settings;
    const createdAt = Date.now();
    const stored = await fromFiles(() => files.usage(scope));
    slot.count(0, stored);
    async function* content() {
      for await (const piece of file.content) {
        slot.count(piece.byteLength, stored);
        yield piece;
      }
    }
    const details = () => uploadDetails(file, createdAt, limits);
    const quota = { files: limits.files, bytes: limits.tenantBytes };
    const upload = { scope, id: newObjectId('file'), createdAt, content: content(), details, quota };
    return fromFiles(() => files.put(upload), upload);
  }

  async list({ scope, query }: EndpointRequest): Promise<JsonReply> {
    const pageQuery = listQuery(query);
    const none = { files: [], hasMore: false, unknown: undefined };
    const page = isUntracked(scope) ? none : await fromFiles(() => this.settings.files.list(scope, pageQuery));
    if (page.unknown) throw fileNotFound(String(pageQuery.after), 'after');
    return jsonReply(listResource(page.files.map(fileResource), page.hasMore));
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    return jsonReply(fileResource(await this.find(request)));
  }

  async content(request: EndpointRequest): Promise<Reply> {
    const file = await this.find(request);
    // A file never changes.
    const content = { ...file, etag: file.id };
    const range = requestedRange(request.headers, content);
    const bytes = await fromFiles(() => this.settings.files.read(file, range));
    if (!bytes) throw fileNotFound(file.id);
    const reply = contentReply(content, range, bytes);
    if (file.purpose !== 'batch_output') return reply;
    // A guard in front, which has not seen the batch's lines, knows by the type that it must read them.
    return { ...reply, headers: { ...reply.headers, 'content-type': 'application/jsonl' } };
  }

  async remove(request: EndpointRequest): Promise<JsonReply> {
    const key = fileKey(request);
    if (!(await fromFiles(() => this.settings.files.delete(key)))) throw fileNotFound(key.id);
    // The file is deleted, whatever fails from here on: the next search in a vector store removes it there.
    await this.settings.forgetFile(key).catch((error: unknown) => reportError(error, request, this.settings));
    return jsonReply({ id: key.id, object: 'file', deleted: true });
  }

  private async find(request: EndpointRequest): Promise<StoredFile> {
    const key = fileKey(request);
    const file = await fromFiles(() => this.settings.files.get(key));
    if (!file) throw fileNotFound(key.id);
    return file;
  }
}

/** Throws `file_not_found` for an id that no file of the tenant can have. */
function fileKey({ scope, params }: EndpointRequest): ResponseKey {
  const id = String(params.id);
  if (!isObjectId('file', id) || isUntracked(scope)) throw fileNotFound(id);
  return { scope, id };
}

function fileNotFound(id: string, param = 'id'): ApiError {
  return new ApiError('file_not_found', `No such File object: ${quoteId(id)}.`, { param });
}
