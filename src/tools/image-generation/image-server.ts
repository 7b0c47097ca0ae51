/** A server that makes images as OpenAI's does: one request for each image. */

import type { Dispatcher } from 'undici';
import { urlBelow } from '../../ports/host/url-below.ts';
import type { GeneratedImage } from '../../protocol/items.ts';
import { undici } from '../../protocol/json/packages.cjs';
import { masker, secretsOfHeader, secretsOfURL } from '../../protocol/secrets/mask.ts';
import { readBytes, readWhole, streamBytes } from '../../streams/bytes.ts';
import { isEventStreamType } from '../../streams/event-lines.ts';
import { type AnswerTerms, imageIn, imageInBytes, imageInEvents, type OnPartial } from './image-answer.ts';
import { ImageFailure, isOverLimit, statusFailure, tooLargeFailure, unusableAnswer } from './image-failure.ts';
import { type ImageRequest, toForm } from './image-request.ts';

/** The server and its limits. */
interface ImageServerOptions {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>> | undefined;
  readonly imageBytes: number;
  readonly timeoutMs: number;
}

/** One HTTP request. */
type HttpRequest = Required<Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headers'>>;

/** What an answer may hold beside its image, in bytes. */
const MAX_REST_BYTES = 64 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const MAX_CONNECT_MS = 10_000;
/** Shorter secrets are words such as `1` or `on`. */
const MIN_SECRET_LENGTH = 4;

/** The connections to one server; they are opened on demand. */
export class ImageServer {
  private readonly options: ImageServerOptions;
  private readonly headers: Readonly<Record<string, string>>;
  private readonly mask: (text: string) => string;
  // `timeoutMs` bounds the whole exchange: a server may send nothing until the image is there.
  private readonly agent = new (undici().Agent)({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: MAX_CONNECT_MS },
  });

  constructor(options: ImageServerOptions) {
    this.options = options;
    const { apiKey, headers = {} } = options;
    const authorization = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
    const others = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), value]],
    );
    this.headers = { ...authorization, ...Object.fromEntries(others) };
    const secrets = [...Object.values(this.headers).flatMap(secretsOfHeader), ...secretsOfURL(options.baseURL.href)];
    this.mask = masker(secrets, MIN_SECRET_LENGTH);
  }

  /** Resolves with the image; throws an error whose message the model may read, or the signal's reason. */
  async make(request: ImageRequest, signal: AbortSignal, onPartial: OnPartial): Promise<GeneratedImage> {
    const { timeoutMs } = this.options;
    const controller = new AbortController();
    const follow = () => controller.abort(signal.reason);
    signal.addEventListener('abort', follow, { once: true });
    const timer = setTimeout(
      () => controller.abort(new ImageFailure(`The image server did not answer within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    try {
      signal.throwIfAborted();
      return await this.exchange(request, controller.signal, onPartial);
    } catch (error) {
      controller.signal.throwIfAborted();
      throw error instanceof ImageFailure
        ? error
        : new ImageFailure('The image server could not be reached, or broke off its answer.', { cause: error });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', follow);
    }
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  private async exchange(request: ImageRequest, signal: AbortSignal, onPartial: OnPartial): Promise<GeneratedImage> {
    const { baseURL, imageBytes } = this.options;
    const maxBytes = imageBytes + MAX_REST_BYTES;
    const answer = await this.ask(request, signal);
    const terms: AnswerTerms = { request: request.fields, imageBytes, mask: this.mask, baseURL };
    if (isEventStreamType(answer.type)) return imageInEvents(answer.body, maxBytes, terms, onPartial);
    if (!/[/+]json\b/i.test(answer.type)) {
      answer.body.close();
      throw unusableAnswer(`text of the type '${this.mask(answer.type).slice(0, 100)}'`);
    }
    const image = imageIn(await readWhole(answer.body, maxBytes).catch(toSizeFailure(imageBytes)), terms);
    return image instanceof URL ? this.fetchFile(image, signal, terms) : image;
  }

  private ask(request: ImageRequest, signal: AbortSignal) {
    const { baseURL } = this.options;
    if (request.edited) {
      const httpRequest = { method: 'POST', body: toForm(request), headers: {} } as const;
      return this.send(urlBelow(baseURL, 'images/edits'), httpRequest, signal);
    }
    const headers = { 'content-type': 'application/json' };
    const httpRequest = { method: 'POST', body: JSON.stringify(request.fields), headers } as const;
    return this.send(urlBelow(baseURL, 'images/generations'), httpRequest, signal);
  }

  /** Some servers answer with the address of a file of theirs. */
  private async fetchFile(url: URL, signal: AbortSignal, terms: AnswerTerms): Promise<GeneratedImage> {
    const { imageBytes } = this.options;
    const answer = await this.send(url, { method: 'GET', body: null, headers: {} }, signal);
    const bytes = await readBytes(answer.body, Math.floor((imageBytes * 3) / 4)).catch(toSizeFailure(imageBytes));
    return imageInBytes(bytes, answer.type, terms);
  }

  /** Resolves with a successful answer. Redirects are not followed: the key and the prompt would go elsewhere. */
  private async send({ origin, pathname, search }: URL, { method, body, headers }: HttpRequest, signal: AbortSignal) {
    const allHeaders = { accept: 'application/json, text/event-stream', ...headers, ...this.headers };
    const path = `${pathname}${search}`;
    const answer = await this.agent.request({ origin, path, method, body, headers: allHeaders, signal });
    const bytes = streamBytes(answer.body);
    if (answer.statusCode < 300) return { body: bytes, type: String(answer.headers['content-type'] ?? '') };
    if (answer.statusCode >= 400)
      throw statusFailure(answer.statusCode, await readWhole(bytes, MAX_ERROR_BYTES).catch(() => ''), this.mask);
    bytes.close();
    throw new ImageFailure(
      `The image server redirected the request (status ${answer.statusCode}), which is not followed.`,
    );
  }
}

function toSizeFailure(imageBytes: number): (error: unknown) => never {
  return (error) => {
    throw isOverLimit(error) ? tooLargeFailure(imageBytes) : error;
  };
}
