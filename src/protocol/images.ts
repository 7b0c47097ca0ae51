/** Images from a model, in base64: read from data URLs, and sent back to models as user content. */

import type { ImageDetails, Item } from './items.ts';

/** An image as a `ModelEvent` has it. */
export interface ReadImage {
  readonly result: string;
  readonly details: ImageDetails;
}

/** The maximum length of a data URL's prefix. */
const LONGEST_HEAD = 64;
const FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'webp', 'gif', 'avif', 'bmp', 'heic', 'tiff']);

/** The image in a data URL; undefined for any other URL, which is not fetched. */
export function imageInURL(url: string): ReadImage | undefined {
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
  const image = `data:image/${typeof format === 'string' && FORMATS.has(format) ? format : formatOf(result)};base64,${result}`;
  const content = [
    { type: 'input_text', text: INTRODUCTION },
    { type: 'input_image', image_url: image },
  ];
  return { type: 'message', role: 'user', content };
}

/** Detected from the first bytes in base64. */
const FORMAT_OF_START: readonly (readonly [start: string, format: string])[] = [
  ['/9j/', 'jpeg'],
  ['R0lGOD', 'gif'],
  ['UklGR', 'webp'],
];

function formatOf(result: string): string {
  return FORMAT_OF_START.find(([start]) => result.startsWith(start))?.[1] ?? 'png';
}
