/** Images in deltas and messages. */

import { citationAtEnd } from '../annotations.ts';
import type { ModelEvent } from '../events.ts';
import { imageInURL } from '../images.ts';
import { isRecord } from '../record.ts';

/**
 * Emits the image; returns false if there is none. An image at a web URL is cited: only bytes can be an item, and URLs
 * from a model are not fetched.
 */
export function takePicture(picture: unknown, events: ModelEvent[]): boolean {
  const value = isRecord(picture) ? (picture.image_url ?? picture.url) : picture;
  const reference = isRecord(value) ? value.url : value;
  const url = typeof reference === 'string' ? reference : '';
  const image = imageInURL(url);
  if (image) events.push({ type: 'image', ...image });
  else if (/^https?:\/\//i.test(url)) events.push(citationAtEnd(url, 'Image'));
  else return false;
  return true;
}
