/** Reads the uploaded files that the messages of a chat completion name. */
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { containerPlace } from '../../../engine/tools/toolset.ts';
import { filesOfContainer } from '../../../engine/uploads/container-files.ts';
import { InlineTexts } from '../../../engine/uploads/inline-text.ts';
import { filePart } from '../../../engine/uploads/upload-parts.ts';
import { UploadReader } from '../../../engine/uploads/upload-reader.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import type { Toolset } from '../../../ports/toolset.ts';
import type { Item } from '../../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { PrepareSettings } from '../../endpoint/prepare.ts';
import type { ChatBody } from './schema.ts';

/**
 * The body with the content in the place of each `file.file_id`, and the text in that of each document; the same body if
 * it has none. Throws `file_not_found`.
 */
export function readUploads(
  body: ChatBody,
  request: Pick<EndpointRequest, 'scope' | 'signal'>,
  { files, documents, limits }: PrepareSettings,
): MaybePromise<ChatBody> {
  if (!files && !documents) return body;
  const isRead = (part: unknown) =>
    (files && partFileId(part) !== undefined) || (documents && Boolean(partFile(part).file_data)) || false;
  if (!body.messages.some(({ content }) => Array.isArray(content) && content.some(isRead))) return body;
  const reader = files && new UploadReader(files, request, limits);
  return withFiles(body, new Placing(reader, new InlineTexts(documents, request, limits), isRead));
}

async function withFiles(body: ChatBody, placing: Placing): Promise<ChatBody> {
  const messages = [];
  for (const [index, message] of body.messages.entries()) {
    const content = await placing.changed(message.content, `messages[${index}].content`);
    messages.push(content === message.content ? message : { ...message, content });
  }
  return { ...body, messages };
}

/** The files that the request puts into the container of its code, as items. Throws `file_not_found`. */
export async function uploadsForCode(
  tools: readonly JsonObject[],
  toolset: Toolset,
  request: Pick<EndpointRequest, 'scope' | 'signal'>,
  { files, limits }: PrepareSettings,
): Promise<readonly Item[]> {
  if (!files || containerPlace(toolset) === undefined) return [];
  return filesOfContainer(tools, new UploadReader(files, request, limits));
}

/** How the parts of one request are replaced. */
class Placing {
  private readonly reader: UploadReader | undefined;
  private readonly texts: InlineTexts;
  private readonly isRead: (part: unknown) => boolean;

  constructor(reader: UploadReader | undefined, texts: InlineTexts, isRead: (part: unknown) => boolean) {
    this.reader = reader;
    this.texts = texts;
    this.isRead = isRead;
  }

  async changed(content: unknown, path: string): Promise<unknown> {
    if (!Array.isArray(content) || !content.some(this.isRead)) return content;
    const whole: unknown[] = [];
    for (const [index, part] of content.entries())
      whole.push(this.isRead(part) ? await this.placed(part, `${path}[${index}].file`) : part);
    return whole;
  }

  private async placed(part: unknown, path: string): Promise<unknown> {
    const id = partFileId(part);
    if (id === undefined || !this.reader) {
      const held = { type: 'input_file', ...partFile(part) };
      const text = await this.texts.ofPart(held, `${path}.file_data`);
      return text === undefined ? part : { type: 'text', text };
    }
    const param = `${path}.file_id`;
    const upload = await this.reader.get(id, param);
    const { filename, file_data: data } = filePart(upload);
    const text = await this.texts.of(upload, param);
    return text === undefined ? { type: 'file', file: { filename, file_data: data } } : { type: 'text', text };
  }
}

function partFile(part: unknown): JsonObject {
  return isRecord(part) && part.type === 'file' && isRecord(part.file) ? part.file : {};
}

function partFileId(part: unknown): string | undefined {
  const { file_data: data, file_id: id } = partFile(part);
  return !data && typeof id === 'string' ? id : undefined;
}
