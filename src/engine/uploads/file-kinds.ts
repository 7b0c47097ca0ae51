/** Detects the type of an uploaded file by its first bytes, its name and its declared type. */
import { decodeUtf8 } from '../../protocol/file-data.ts';
import type { Upload } from './upload-reader.ts';

/** The content of a file. */
type Content = Pick<Upload, 'content'>;
type Named = Content & { readonly file: Pick<Upload['file'], 'filename' | 'contentType'> };

/** The first bytes of the images that models read. */
const IMAGES: readonly (readonly [type: string, at: number, bytes: string])[] = [
  ['image/png', 0, '89504e470d0a1a0a'],
  ['image/jpeg', 0, 'ffd8ff'],
  ['image/gif', 0, '47494638'],
  ['image/webp', 8, '57454250'],
];

/** The type of the image by its first bytes alone; undefined if it is no image. */
export function imageType({ content }: Content): string | undefined {
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
export function detectContentType(upload: Named): string {
  const { filename, contentType = UNKNOWN } = upload.file;
  if (upload.content.subarray(0, 5).toString('latin1') === '%PDF-') return 'application/pdf';
  const ending = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  const byName = Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined;
  return imageType(upload) ?? byName ?? contentType.toLowerCase();
}

const UNKNOWN = 'application/octet-stream';
const TEXT = /^text\/|^application\/(?:json|xml|yaml)$/;

/** The text of a file of text; undefined for any other, also for one that only claims to be. */
export function readPlainText(upload: Named): string | undefined {
  return TEXT.test(detectContentType(upload)) ? decodeUtf8(upload.content) : undefined;
}

/** The file as a data URL of this type. */
export function dataURL({ content }: Content, type: string): string {
  return `data:${type};base64,${content.toString('base64')}`;
}
