/** Writes the parts of messages and tool outputs as content blocks. */
import { ApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import { type FileSource, fileSource } from '../../protocol/responses/file-source.ts';

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
  const source = fileSource(part);
  if (!source) return textBlocks(plainText(part.text ?? part.refusal));
  if (part.type === 'input_file') return [fileBlock(part.filename, source)];
  if (part.type !== 'input_image') throw unsupportedPart(`Parts of type '${part.type}' cannot be given to this model.`);
  return [{ type: 'image', source: blockSource(source) }];
}

/** Sends a PDF as it is and text as text; the API supports no other documents. */
function fileBlock(filename: unknown, source: FileSource): Block {
  const title = typeof filename === 'string' && filename !== '' ? { title: filename } : {};
  const { mediaType, base64 } = source;
  if (base64 === undefined || mediaType === PDF) return { type: 'document', source: blockSource(source), ...title };
  if (!/^text\/|[/+](json|xml|yaml)$/.test(mediaType)) {
    throw unsupportedPart(`Files of type '${mediaType}' cannot be given to this model; it reads PDF and text.`);
  }
  const content = Buffer.from(base64, 'base64').toString();
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: content }, ...title };
}

function blockSource(source: FileSource): JsonObject {
  if (source.base64 === undefined) return { type: 'url', url: source.url };
  return { type: 'base64', media_type: source.mediaType, data: source.base64 };
}

const PDF = 'application/pdf';

function unsupportedPart(message: string): ApiError {
  return new ApiError('invalid_value', message, { param: 'input' });
}
