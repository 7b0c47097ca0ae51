/** Pictures and speech in deltas and messages. */

import { citationAtEnd } from '../annotations.ts';
import type { ModelEvent } from '../events.ts';
import { imageInURL } from '../images.ts';
import { isRecord, type JsonObject } from '../record.ts';

/** Whether a part of the content is a picture. */
export function isPicture(part: unknown): boolean {
  return isRecord(part) && part.type === 'image_url';
}

/**
 * Says the picture; false where there is none. One at an address of the web is cited: only its bytes can be an item, and
 * nobody here fetches what a model names.
 */
export function takePicture(picture: unknown, events: ModelEvent[]): boolean {
  const url = urlOf(picture);
  const image = imageInURL(url);
  if (image) events.push({ type: 'image', ...image });
  else if (/^https?:\/\//i.test(url)) events.push(citationAtEnd(url, 'Image'));
  else return false;
  return true;
}

function urlOf(picture: unknown): string {
  const given = isRecord(picture) ? (picture.image_url ?? picture.url) : picture;
  const url = isRecord(given) ? given.url : given;
  return typeof url === 'string' ? url : '';
}

/** Says what is heard. */
export function takeSpeech({ transcript: text }: JsonObject, events: ModelEvent[]): void {
  if (typeof text === 'string' && text !== '') events.push({ type: 'text-delta', text });
}
