/** Reads images out of the answers of a server: a whole answer, or events with unfinished images before the last. */

import { imageFormat, imageInURL } from '../../protocol/images.ts';
import type { GeneratedImage, ImageDetails } from '../../protocol/items.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import type { Bytes } from '../../streams/bytes.ts';
import { type Inbox, openInbox } from '../../streams/sse-reader.ts';
import { ImageFailure, isOverLimit, reportedFailure, tooLargeFailure, unusableAnswer } from './image-failure.ts';

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
  if (!isRecord(body)) throw unusableAnswer('text that is not a JSON object');
  const failure = reportedFailure(body, terms.mask);
  if (failure) throw failure;
  const [first] = Array.isArray(body.data) ? body.data : [];
  if (!isRecord(first)) throw unusableAnswer('an empty answer');
  const { url, b64_json: data } = first;
  if (typeof url !== 'string' || data) return toImage(data, { ...body, ...first }, terms);
  const inURL = imageInURL(url);
  if (inURL) return toImage(inURL.result, inURL.details, terms);
  // A file of another server is not fetched, since its address is not the host's.
  const file = URL.canParse(url, terms.baseURL.href) ? new URL(url, terms.baseURL.href) : undefined;
  if (file?.origin !== terms.baseURL.origin)
    throw unusableAnswer('the address of a file elsewhere, which is not fetched');
  return file;
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
        const event = jsonIn(data);
        if (!isRecord(event)) continue;
        const failure = reportedFailure(event, terms.mask);
        if (failure) throw failure;
        const type = plainText(event.type);
        if (type.endsWith('.completed')) return toImage(event.b64_json, event, terms);
        if (!type.endsWith('.partial_image')) continue;
        try {
          onPartial(toImage(event.b64_json, event, terms));
        } catch (error) {
          // An unfinished image that cannot be read fails nothing.
          if (!(error instanceof ImageFailure)) throw error;
        }
      }
    }
  } catch (error) {
    throw isOverLimit(error) ? tooLargeFailure(terms.imageBytes) : error;
  } finally {
    inbox.close();
  }
  throw unusableAnswer('events without a finished image');
}

/** The image of a file. Throws `ImageFailure`. */
export function imageInBytes(bytes: Buffer, contentType: string, terms: AnswerTerms): GeneratedImage {
  const [, format = ''] = /^image\/([a-z0-9.+-]+)/i.exec(contentType) ?? [];
  if (format === '')
    throw unusableAnswer(`a file of the type '${terms.mask(contentType).slice(0, MAX_TYPE_CHARACTERS)}'`);
  return toImage(bytes.toString('base64'), { output_format: format.toLowerCase() }, terms);
}

const MAX_TYPE_CHARACTERS = 100;
/** No timer runs while a stream sends nothing: the call has a deadline. */
const QUIET_MS = 60_000;

function nextBatch(inbox: Inbox): Promise<readonly string[] | undefined> {
  return new Promise((resolve, reject) => {
    inbox.pull({ onChunk: resolve, onEnd: () => resolve(undefined), onError: reject });
  });
}

/** Linear: no character can be matched in two ways. */
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The image, with what the answer reports of it, or else what was requested. */
function toImage(data: unknown, report: JsonObject, { request, mask, imageBytes }: AnswerTerms): GeneratedImage {
  if (typeof data !== 'string' || data === '') throw unusableAnswer('an empty answer');
  const inURL = imageInURL(data);
  const result = inURL?.result ?? data;
  if (result.length > imageBytes) throw tooLargeFailure(imageBytes);
  if (!BASE64.test(result)) throw unusableAnswer('data that is not base64');
  const reported: JsonObject = { ...report, ...inURL?.details };
  const detail = (name: string) => mask(plainText(reported[name] ?? request[name]).slice(0, MAX_DETAIL_CHARACTERS));
  const details: ImageDetails = {
    output_format: detail('output_format') || imageFormat(result),
    background: detail('background'),
    quality: detail('quality'),
    size: detail('size'),
    revised_prompt: mask(plainText(reported.revised_prompt).slice(0, MAX_PROMPT_CHARACTERS)),
  };
  return { result, details: Object.fromEntries(Object.entries(details).filter(([, value]) => value !== '')) };
}

const MAX_DETAIL_CHARACTERS = 64;
const MAX_PROMPT_CHARACTERS = 32_768;
