/** Images in base64: read from data URLs, and written as such. */

import type { GeneratedImage } from './items.ts';

/** The maximum length of a data URL's prefix. */
const MAX_HEAD_LENGTH = 64;
const FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'webp', 'gif', 'avif', 'bmp', 'heic', 'tiff']);

/** The image in a data URL; undefined for any other URL, which is not fetched. */
export function imageInURL(url: string): GeneratedImage | undefined {
  const head = url.slice(0, MAX_HEAD_LENGTH).split(';base64,', 1)[0] ?? '';
  const format = head.slice('data:image/'.length).replace('jpg', 'jpeg');
  const result = url.slice(head.length + ';base64,'.length);
  if (!head.startsWith('data:image/') || !FORMATS.has(format) || result === '') return undefined;
  return { result, details: { output_format: format } };
}

/** The image as a data URL; a format that is not known is read from its first bytes. */
export function dataURL(result: string, format: unknown): string {
  const knownFormat = typeof format === 'string' && FORMATS.has(format) ? format : imageFormat(result);
  return `data:image/${knownFormat};base64,${result}`;
}

/** Detected from the first bytes in base64. */
const FORMAT_OF_START: readonly (readonly [start: string, format: string])[] = [
  ['/9j/', 'jpeg'],
  ['R0lGOD', 'gif'],
  ['UklGR', 'webp'],
];

/** The format of an image in base64, by its first bytes; `png` if they are of none. */
export function imageFormat(result: string): string {
  return FORMAT_OF_START.find(([start]) => result.startsWith(start))?.[1] ?? 'png';
}
