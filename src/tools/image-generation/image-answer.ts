/** Reads images out of the answers of a server: a whole answer, or events with unfinished images before the last. */

import { formatOf, imageInURL } from '../../protocol/images.ts';
import type { GeneratedImage, ImageDetails } from '../../protocol/items.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';
import type { Bytes } from '../../streams/bytes.ts';
import { type Inbox, openInbox } from '../../streams/sse-reader.ts';
import { failureIn, ImageFailure, isOverLimit, tooLarge, unusable } from './image-failure.ts';

/** What an answer is read with. */
export interface AnswerTerms {
  /** What was asked for: an answer need not repeat it. */
  readonly request: JsonObject;
  /** Characters of base64. */
  readonly imageBytes: number;
  readonly mask: (text: string) => string;
  /** The server's address: files of other servers are not fetched. */
  readonly baseURL: URL;
}

/** Receives unfinished images. */
export type OnPartial = (image: GeneratedImage) => void;

/** The image in a whole answer, or the address of a file of the same server. Throws `ImageFailure`. */
export function imageIn(text: string, terms: AnswerTerms): GeneratedImage | URL {
  const body = jsonIn(text);
  if (!isRecord(body)) throw unusable('text that is not a JSON object');
  const failure = failureIn(body, terms.mask);
  if (failure) throw failure;
  const [first] = Array.isArray(body.data) ? body.data : [];
  if (!isRecord(first)) throw unusable('an empty answer');
  return typeof first.url === 'string' && !first.b64_json
    ? imageAt(first.url, terms)
    : imageOf(first.b64_json, { ...body, ...first }, terms);
}

/** The last image of a stream of events; `onPartial` receives those before it. Throws `ImageFailure`. */
export async function imageInEvents(
  body: Bytes,
  eventBytes: number,
  terms: AnswerTerms,
  onPartial: OnPartial,
): Promise<GeneratedImage> {
  const inbox = openInbox(body, { eventBytes, quietMs: QUIET_MS, onBytes() {} });
  try {
    for (let batch = await nextBatch(inbox); batch; batch = await nextBatch(inbox)) {
      for (const data of batch) {
        const image = imageInEvent(data, terms, onPartial);
        if (image) return image;
      }
    }
  } catch (error) {
    throw isOverLimit(error) ? tooLarge(terms.imageBytes) : error;
  } finally {
    inbox.close();
  }
  throw unusable('events without a finished image');
}

/** The image of a file. Throws `ImageFailure`. */
export function imageInBytes(bytes: Buffer, contentType: string, terms: AnswerTerms): GeneratedImage {
  const [, format = ''] = /^image\/([a-z0-9.+-]+)/i.exec(contentType) ?? [];
  if (format === '') throw unusable(`a file of the type '${terms.mask(contentType).slice(0, TYPE_CHARACTERS)}'`);
  return imageOf(bytes.toString('base64'), { output_format: format.toLowerCase() }, terms);
}

const TYPE_CHARACTERS = 100;
/** No timer runs while a stream sends nothing: the call has a deadline. */
const QUIET_MS = 60_000;

function nextBatch(inbox: Inbox): Promise<readonly string[] | undefined> {
  return new Promise((resolve, reject) => {
    inbox.pull({ onChunk: resolve, onEnd: () => resolve(undefined), onError: reject });
  });
}

function imageInEvent(data: string, terms: AnswerTerms, onPartial: OnPartial): GeneratedImage | undefined {
  const event = jsonIn(data);
  if (!isRecord(event)) return undefined;
  const failure = failureIn(event, terms.mask);
  if (failure) throw failure;
  const type = plainTextOf(event.type);
  if (type.endsWith('.completed')) return imageOf(event.b64_json, event, terms);
  if (type.endsWith('.partial_image')) takePartial(event, terms, onPartial);
  return undefined;
}

/** An unfinished image that cannot be read fails nothing. */
function takePartial(event: JsonObject, terms: AnswerTerms, onPartial: OnPartial): void {
  try {
    onPartial(imageOf(event.b64_json, event, terms));
  } catch (error) {
    if (!(error instanceof ImageFailure)) throw error;
  }
}

/** Data URLs hold the image; a file of another server is not fetched, since its address is not the host's. */
function imageAt(given: string, terms: AnswerTerms): GeneratedImage | URL {
  const held = imageInURL(given);
  if (held) return imageOf(held.result, held.details, terms);
  const url = URL.canParse(given, terms.baseURL.href) ? new URL(given, terms.baseURL.href) : undefined;
  if (url?.origin !== terms.baseURL.origin) throw unusable('the address of a file elsewhere, which is not fetched');
  return url;
}

/** Linear: no character can be matched in two ways. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function imageOf(data: unknown, found: JsonObject, terms: AnswerTerms): GeneratedImage {
  if (typeof data !== 'string' || data === '') throw unusable('an empty answer');
  const held = imageInURL(data);
  const result = held?.result ?? data;
  if (result.length > terms.imageBytes) throw tooLarge(terms.imageBytes);
  if (!BASE64.test(result)) throw unusable('data that is not base64');
  return { result, details: detailsOf(result, { ...found, ...held?.details }, terms) };
}

/** What the answer reports of the image, or else what was requested. */
function detailsOf(result: string, found: JsonObject, { request, mask }: AnswerTerms): ImageDetails {
  const reported = (name: string) => mask(plainTextOf(found[name] ?? request[name]).slice(0, DETAIL_CHARACTERS));
  const named = ['background', 'quality', 'size'].map((name) => [name, reported(name)]);
  const revised = mask(plainTextOf(found.revised_prompt).slice(0, PROMPT_CHARACTERS));
  const known = [
    ['output_format', reported('output_format') || formatOf(result)],
    ...named,
    ['revised_prompt', revised],
  ];
  return Object.fromEntries(known.filter(([, value]) => value !== ''));
}

const DETAIL_CHARACTERS = 64;
const PROMPT_CHARACTERS = 32_768;
