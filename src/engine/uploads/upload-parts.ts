/** Puts uploaded files into the parts of a request that name them. */
import { ApiError } from '../../protocol/errors.ts';
import { quotedId } from '../../protocol/ids.ts';
import { plainFileName } from '../../protocol/printable.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { dataURL, detectContentType, imageType } from './file-kinds.ts';
import type { Upload } from './upload-reader.ts';

/** The id of the uploaded file that the part stands for; undefined if it has its content, or is of another type. */
export function uploadIdInPart(part: unknown): string | undefined {
  if (!isRecord(part) || (part.type !== 'input_image' && part.type !== 'input_file')) return undefined;
  if (part.image_url || part.file_url || part.file_data) return undefined;
  return typeof part.file_id === 'string' ? part.file_id : undefined;
}

/** The same part with the content. Throws `invalid_value` for an image part whose file is no image. */
export function withContent({ file_id: _, ...part }: JsonObject, upload: Upload, param: string): JsonObject {
  if (part.type === 'input_file') return filePart(upload, part.filename);
  const type = imageType(upload);
  if (type) return { ...part, image_url: dataURL(upload, type) };
  const message = `The file ${quotedId(upload.file.id)} is not a PNG, JPEG, GIF or WebP image.`;
  throw new ApiError('invalid_value', message, { param });
}

/** A file, wherever it comes from. */
type Attachment = Pick<Upload, 'content'> & { readonly file: Pick<Upload['file'], 'filename' | 'contentType'> };

/** The file as a part, with its content as a data URL. */
export function filePart(upload: Attachment, filename?: unknown): JsonObject {
  const name = (typeof filename === 'string' && plainFileName(filename)) || upload.file.filename;
  return { type: 'input_file', filename: name, file_data: dataURL(upload, detectContentType(upload)) };
}
