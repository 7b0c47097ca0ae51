/** Puts uploaded files into the parts of a request that name them, each as what its first bytes, its name and its declared type say it is. */
import { ApiError } from '../../protocol/errors.ts';
import { decodeUtf8 } from '../../protocol/file-data.ts';
import { quoteId } from '../../protocol/ids.ts';
import { visibleText } from '../../protocol/printable.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
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
  if (type) return { ...part, image_url: `data:${type};base64,${upload.content.toString('base64')}` };
  const message = `The file ${quoteId(upload.file.id)} is not a PNG, JPEG, GIF or WebP image.`;
  throw new ApiError('invalid_value', message, { param });
}

/** A file, wherever it comes from. */
type Attachment = Pick<Upload, 'content'> & { readonly file: Pick<Upload['file'], 'filename' | 'contentType'> };

/** The file as a part, with its content as a data URL. */
export function filePart(upload: Attachment, filename?: unknown): JsonObject {
  const name = (typeof filename === 'string' && visibleText(filename)) || upload.file.filename;
  const data = `data:${detectContentType(upload)};base64,${upload.content.toString('base64')}`;
  return { type: 'input_file', filename: name, file_data: data };
}

/** The first bytes of the images that models read. */
const IMAGES: readonly (readonly [type: string, at: number, bytes: string])[] = [
  ['image/png', 0, '89504e470d0a1a0a'],
  ['image/jpeg', 0, 'ffd8ff'],
  ['image/gif', 0, '47494638'],
  ['image/webp', 8, '57454250'],
];

/** The type of the image by its first bytes alone; undefined if it is no image. */
export function imageType({ content }: Pick<Upload, 'content'>): string | undefined {
  const found = IMAGES.find(
    ([, at, bytes]) => content.subarray(at, at + bytes.length / 2).compare(Buffer.from(bytes, 'hex')) === 0,
  );
  return found?.[0];
}

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  json: 'application/json',
  jsonl: 'application/json',
  log: 'text/plain',
  md: 'text/markdown',
  markdown: 'text/markdown',
  pdf: 'application/pdf',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

/** The type by the file's first bytes, then its name, then the client's declaration. */
function detectContentType(upload: Attachment): string {
  const { filename, contentType = UNKNOWN } = upload.file;
  if (upload.content.subarray(0, 5).toString('latin1') === '%PDF-') return 'application/pdf';
  const ending = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  const byName = Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
  return imageType(upload) ?? byName ?? contentType.toLowerCase();
}

const UNKNOWN = 'application/octet-stream';
const TEXT = /^text\/|^application\/(?:json|xml|yaml)$/;

/** The text of a file of text; undefined for any other, also for one that only claims to be. */
export function readPlainText(upload: Attachment): string | undefined {
  return TEXT.test(detectContentType(upload)) ? decodeUtf8(upload.content) : undefined;
}
