/** The endpoints of the files of a container. */
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { listResource, pageQuery, selectPage } from '../../engine/request/item-pages.ts';
import { containerFileName } from '../../engine/tools/code-files.ts';
import type { Container, ContainerFile, ContainerKey } from '../../ports/containers/container.ts';
import { containerExpired } from '../../ports/containers/container-errors.ts';
import { allBytes } from '../../ports/files/content.ts';
import { ApiError } from '../../protocol/errors.ts';
import { quoteId } from '../../protocol/ids.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { type JsonReply, jsonReply, type Reply } from '../../protocol/reply.ts';
import { contentReply, requestedRange } from '../endpoint/forms/content.ts';
import { fileTooLarge, formType, maxFormBytes } from '../endpoint/forms/multipart.ts';
import { type IncomingFile, NO_BYTES, receiveForm } from '../endpoint/forms/upload-form.ts';
import type { UploadSlot, UploadSlots } from '../endpoint/forms/upload-slots.ts';
import { readFileId } from './bodies.ts';
import { containerIn, containerKey } from './container-in.ts';
import { containerFileResource } from './resources.ts';
import type { ContainersSettings } from './settings.ts';
import { uploadedContent, uploadedFiles } from './uploaded-files.ts';

/** A body that names an uploaded file. */
const MAX_JSON_BYTES = 64 * 1024;
const MAX_NAME_LENGTH = 255;
/** What the container keeps is counted where it is kept. */
const NOTHING = { files: 0, bytes: 0 };

export class ContainerFileEndpoints {
  private readonly settings: ContainersSettings;
  private readonly slots: UploadSlots;

  constructor(settings: ContainersSettings, slots: UploadSlots) {
    this.settings = settings;
    this.slots = slots;
  }

  /** A form with a file or the field `file_id`, or JSON with `file_id`. */
  async create(request: EndpointRequest): Promise<JsonReply> {
    const container = await containerIn(request, this.settings.containers);
    if (container.status === 'expired') throw containerExpired();
    if (/^application\/json\b/i.test(request.headers.get('content-type') ?? '')) {
      const id = readFileId(await jsonBody(request), this.settings.limits);
      return this.answer(container, await this.copy(container, id));
    }
    const { formLimits: limits, formParser } = this.settings;
    const type = formType(request.headers);
    // Before reading: an upload that is announced as too long need not be sent.
    if (Number(request.headers.get('content-length')) > maxFormBytes(limits)) throw fileTooLarge(limits);
    const slot = this.slots.begin(request);
    try {
      const store = (file: IncomingFile) => this.store(container, file, slot);
      const withoutFile = (fields: ReadonlyMap<string, string>) =>
        this.copy(container, readFileId(Object.fromEntries(fields), this.settings.limits));
      const terms = { signal: slot.signal, withoutFile };
      const bytes = request.bytes ?? NO_BYTES;
      return this.answer(container, await receiveForm(bytes, formParser(type), limits, store, terms));
    } finally {
      slot.end();
    }
  }

  async list(request: EndpointRequest): Promise<JsonReply> {
    const key = containerKey(request);
    const wanted = pageQuery(request.query);
    const page = selectPage<ContainerFile>(await this.settings.containers.files(key), wanted);
    if (page.unknown) throw fileNotFound(wanted[page.unknown], page.unknown);
    const resources = page.items.map((file) => containerFileResource(key.id, file));
    return jsonReply(listResource(resources, page.hasMore));
  }

  async retrieve(request: EndpointRequest): Promise<JsonReply> {
    const key = containerKey(request);
    return this.answer(key, await this.find(key, request));
  }

  async content(request: EndpointRequest): Promise<Reply> {
    const key = containerKey(request);
    const file = await this.find(key, request);
    const content = { filename: containerFileName(file.name), bytes: file.bytes, etag: `${file.id}-${file.version}` };
    const range = requestedRange(request.headers, content);
    const bytes = await this.settings.containers.readFile(key, file, range);
    if (!bytes) throw fileNotFound(file.id);
    return contentReply(content, range, bytes);
  }

  async remove(request: EndpointRequest): Promise<JsonReply> {
    const key = containerKey(request);
    const file = await this.find(key, request);
    if (!(await this.settings.containers.removeFile(key, file))) throw fileNotFound(file.id);
    return jsonReply({ id: file.id, object: 'container.file.deleted', deleted: true });
  }

  private answer({ id }: ContainerKey, file: ContainerFile): JsonReply {
    return jsonReply(containerFileResource(id, file));
  }

  private async store(container: Container, file: IncomingFile, slot: UploadSlot): Promise<ContainerFile> {
    async function* content() {
      for await (const piece of file.content) {
        slot.count(piece.byteLength, NOTHING);
        yield piece;
      }
    }
    if (file.filename.length > MAX_NAME_LENGTH) {
      const message = `The file's name has more than ${MAX_NAME_LENGTH} characters.`;
      throw new ApiError('string_above_max_length', message, { param: 'file' });
    }
    const name = containerFileName(file.filename);
    return this.settings.containers.putFile(container, { name, source: 'user', content: content() });
  }

  private async copy(container: Container, id: string): Promise<ContainerFile> {
    const [file] = await uploadedFiles([id], container.scope, this.settings, 'file_id');
    if (!file) throw fileNotFound(id, 'file_id');
    const content = await uploadedContent(file, this.settings);
    return this.settings.containers.putFile(container, { name: file.name, source: 'user', content });
  }

  private async find(key: ContainerKey, { params }: EndpointRequest): Promise<ContainerFile> {
    const file = (await this.settings.containers.files(key)).find(({ id }) => id === params.file);
    if (!file) throw fileNotFound(params.file);
    return file;
  }
}

/** The JSON, which another handler of the host may have parsed. */
async function jsonBody({ body, bytes }: EndpointRequest): Promise<unknown> {
  if (!bytes) return body;
  const text = await allBytes(bytes, MAX_JSON_BYTES).catch((cause: unknown) => {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ApiError('request_too_large', `The body may have at most ${MAX_JSON_BYTES} bytes.`, { cause });
  });
  const json = jsonIn(Buffer.from(text).toString());
  if (json === undefined) throw new ApiError('invalid_json', 'We could not parse the JSON body of your request.');
  return json;
}

function fileNotFound(id: unknown, param: string | null = null): ApiError {
  return new ApiError('file_not_found', `No such file in the container: ${quoteId(id)}.`, { param });
}
