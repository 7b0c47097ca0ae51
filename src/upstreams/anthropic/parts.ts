/** Writes the parts of messages and tool outputs as content blocks. */
import { ApiError } from '../../protocol/errors.ts';
import { dataInURL } from '../../protocol/file-data.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';

/** A content block; its fields are the API's. */
export type Block = JsonObject & { readonly type: string };

/** The blocks of a text or of a list of parts; omits empty texts, which the API refuses. */
export function blocksOf(content: unknown): readonly Block[] {
  if (typeof content === 'string') return textBlocks(content);
  if (Array.isArray(content)) return content.filter(isRecord).flatMap(blocksOfPart);
  return content === undefined || content === null ? [] : textBlocks(JSON.stringify(content));
}

/** One text block, or none for an empty text. */
function textBlocks(text: string): readonly Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function blocksOfPart(part: JsonObject): readonly Block[] {
  switch (part.type) {
    case 'input_image':
      return [{ type: 'image', source: imageSource(plainTextOf(part.image_url)) }];
    case 'input_file':
      return [fileBlock(part)];
    case 'input_audio':
    case 'input_video':
      throw unsupported(`Parts of type '${part.type}' cannot be given to this model.`);
    default:
      return textBlocks(plainTextOf(part.text ?? part.refusal));
  }
}

function imageSource(url: string): JsonObject {
  const data = dataInURL(url);
  return data ? { type: 'base64', media_type: data.mediaType, data: data.base64 } : { type: 'url', url };
}

/** Sends a PDF as it is and text as text; the API supports no other documents. */
function fileBlock({ filename, file_data: data, file_url: url }: JsonObject): Block {
  const title = typeof filename === 'string' && filename !== '' ? { title: filename } : {};
  return { type: 'document', source: data ? fileSource(plainTextOf(data)) : { type: 'url', url }, ...title };
}

function fileSource(text: string): JsonObject {
  // Some clients send bare base64, which is nearly always a PDF.
  const { mediaType, base64 } = dataInURL(text) ?? { mediaType: PDF, base64: text };
  if (mediaType === PDF) return { type: 'base64', media_type: PDF, data: base64 };
  if (!/^text\/|[/+](json|xml|yaml)$/.test(mediaType)) {
    throw unsupported(`Files of type '${mediaType}' cannot be given to this model; it reads PDF and text.`);
  }
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(base64, 'base64').toString() };
}

const PDF = 'application/pdf';

function unsupported(message: string): ApiError {
  return new ApiError('invalid_value', message, { param: 'input' });
}
