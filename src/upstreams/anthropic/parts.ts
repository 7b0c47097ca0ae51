/** Writes the parts of messages and tool outputs as content blocks. */
import { ApiError } from '../../protocol/errors.ts';
import { dataInURL } from '../../protocol/file-data.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';

/** A content block; its fields are the API's. */
export type Block = JsonObject & { readonly type: string };

/** The blocks of a text or of a list of parts; omits empty texts, which the API refuses. */
export function toBlocks(content: unknown): readonly Block[] {
  if (typeof content === 'string') return textBlocks(content);
  if (Array.isArray(content)) return content.filter(isRecord).flatMap(partBlocks);
  return content === undefined || content === null ? [] : textBlocks(JSON.stringify(content));
}

/** One text block, or none for an empty text. */
function textBlocks(text: string): readonly Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function partBlocks(part: JsonObject): readonly Block[] {
  switch (part.type) {
    case 'input_image': {
      const url = plainText(part.image_url);
      const data = dataInURL(url);
      const source = data ? { type: 'base64', media_type: data.mediaType, data: data.base64 } : { type: 'url', url };
      return [{ type: 'image', source }];
    }
    case 'input_file':
      return [fileBlock(part.filename, part.file_data, part.file_url)];
    case 'input_audio':
    case 'input_video':
      throw unsupportedPart(`Parts of type '${part.type}' cannot be given to this model.`);
    default:
      return textBlocks(plainText(part.text ?? part.refusal));
  }
}

/** Sends a PDF as it is and text as text; the API supports no other documents. */
function fileBlock(filename: unknown, data: unknown, url: unknown): Block {
  const title = typeof filename === 'string' && filename !== '' ? { title: filename } : {};
  if (!data) return { type: 'document', source: { type: 'url', url }, ...title };
  const text = plainText(data);
  // Some clients send bare base64, which is nearly always a PDF.
  const { mediaType, base64 } = dataInURL(text) ?? { mediaType: PDF, base64: text };
  if (mediaType === PDF)
    return { type: 'document', source: { type: 'base64', media_type: PDF, data: base64 }, ...title };
  if (!/^text\/|[/+](json|xml|yaml)$/.test(mediaType)) {
    throw unsupportedPart(`Files of type '${mediaType}' cannot be given to this model; it reads PDF and text.`);
  }
  const content = Buffer.from(base64, 'base64').toString();
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: content }, ...title };
}

const PDF = 'application/pdf';

function unsupportedPart(message: string): ApiError {
  return new ApiError('invalid_value', message, { param: 'input' });
}
