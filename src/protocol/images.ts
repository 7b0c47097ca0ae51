/** Images from a model, in base64: read from data URLs, and sent back to models as user content. */

import type { GeneratedImage, Item, ToolOutput } from './items.ts';
import type { JsonObject } from './record.ts';

/** The maximum length of a data URL's prefix. */
const LONGEST_HEAD = 64;
const FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'webp', 'gif', 'avif', 'bmp', 'heic', 'tiff']);

/** The image in a data URL; undefined for any other URL, which is not fetched. */
export function imageInURL(url: string): GeneratedImage | undefined {
  const head = url.slice(0, LONGEST_HEAD).split(';base64,', 1)[0] ?? '';
  const format = head.slice('data:image/'.length).replace('jpg', 'jpeg');
  const result = url.slice(head.length + ';base64,'.length);
  if (!head.startsWith('data:image/') || !FORMATS.has(format) || result === '') return undefined;
  return { result, details: { output_format: format } };
}

/** The text before the image: the image is sent as the user's, since no API accepts it as the assistant's own. */
const INTRODUCTION = '[The assistant made this image:]';

/** The image as a message that every model accepts; undefined for an item without one. */
export function imageMessage({ type, result, output_format: format }: Item): Item | undefined {
  if (type !== 'image_generation_call' || typeof result !== 'string' || result === '') return undefined;
  const content = [
    { type: 'input_text', text: INTRODUCTION },
    { type: 'input_image', image_url: dataURL(result, format) },
  ];
  return { type: 'message', role: 'user', content };
}

/** What the model receives in place of an image that a tool made. */
export const IMAGE_MADE = 'The image was made and shown to the user.';
const NO_IMAGE = 'No image was made.';

/** The result of the tool call that made the item's image: a text, and the image itself. */
export function imageResult({ result, output_format: format }: JsonObject, text = IMAGE_MADE): ToolOutput {
  if (typeof result !== 'string' || result === '') return NO_IMAGE;
  return [
    { type: 'input_text', text },
    { type: 'input_image', image_url: dataURL(result, format), detail: 'auto' },
  ];
}

/** The image as a data URL; a format that is not known is read from its first bytes. */
export function dataURL(result: string, format: unknown): string {
  const known = typeof format === 'string' && FORMATS.has(format) ? format : formatOf(result);
  return `data:image/${known};base64,${result}`;
}

/** Detected from the first bytes in base64. */
const FORMAT_OF_START: readonly (readonly [start: string, format: string])[] = [
  ['/9j/', 'jpeg'],
  ['R0lGOD', 'gif'],
  ['UklGR', 'webp'],
];

/** The format of an image in base64, by its first bytes; `png` if they are of none. */
export function formatOf(result: string): string {
  return FORMAT_OF_START.find(([start]) => result.startsWith(start))?.[1] ?? 'png';
}
