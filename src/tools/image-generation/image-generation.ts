/** OpenAI's image generation as a tool that this server runs. */

import { inspect } from 'node:util';
import {
  asSecret,
  boolean,
  checkOptions,
  isHeaderValue,
  milliseconds,
  type OptionCheck,
  positiveInteger,
} from '../../ports/host/options-check.ts';
import type { ProvidedTool, ToolProvider } from '../../ports/tool-provider.ts';
import { isRecord } from '../../protocol/record.ts';
import { IMAGE_GENERATION, IMAGE_MADE } from '../../protocol/tool-calls/image-generation-call.ts';
import { imageRequest } from './image-request.ts';
import { ImageServer } from './image-server.ts';

/** Where images are made, and within which limits; `undefined` means omitted. */
export interface ImageGenerationOptions {
  /** The server of images, such as `https://api.openai.com/v1`; `/images/generations` is appended. */
  readonly baseURL: string;
  /** Sent as a bearer token. Default: none. */
  readonly apiKey?: string | undefined;
  /** Further headers of every request. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The model that makes the images, whatever the request names. Default: the request's `model`, if it has one. */
  readonly model?: string | undefined;
  /** Whether the server has `/images/edits`, so that the model may have the conversation's last image changed. Default: true. */
  readonly edits?: boolean | undefined;
  /** Characters of one image in base64; a larger one is a failed call. Default: 16,777,216. */
  readonly imageBytes?: number | undefined;
  /** Milliseconds for one image. `limits.tools.maxMs` applies, too. Default: 180,000. */
  readonly timeoutMs?: number | undefined;
  /** Whether the model receives the images it asked for; `false` for a model that only reads text. Default: true. */
  readonly modelSeesImages?: boolean | undefined;
}

const MIB = 1024 * 1024;
const DEFAULTS = { imageBytes: 16 * MIB, timeoutMs: 180_000 };
/** The interval of progress reports, in milliseconds: the image server sends nothing while it makes an image. */
const PROGRESS_MS = 5000;

const NEW_IMAGE = {
  prompt: { type: 'string', minLength: 1, description: 'What the image shows, and in which style.' },
  size: { type: 'string', description: 'Width and height in pixels, such as 1024x1024, 1536x1024 or 1024x1536.' },
};
const EDIT = { type: 'boolean', description: 'Whether to change the last image of the conversation. Default: false.' };

/**
 * Creates a provider for the option `tools`: it serves requests whose `tools` contain `image_generation`.
 * Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { imageGeneration } from 'express-open-responses/image-generation';
 *
 * const images = imageGeneration({ baseURL: 'http://localhost:8080/v1', model: 'flux.1-dev' });
 * const router = responsesRouter({ tools: images });
 * ```
 */
export function imageGeneration(options: ImageGenerationOptions): ToolProvider {
  checkOptions('imageGeneration', options, CHECKS);
  const { apiKey, headers, model, edits = true } = options;
  const { imageBytes = DEFAULTS.imageBytes, timeoutMs = DEFAULTS.timeoutMs } = options;
  const baseURL = parseServerURL(options.baseURL);
  const server = new ImageServer({ baseURL, apiKey, headers, imageBytes, timeoutMs });
  const tool: ProvidedTool = {
    server: IMAGE_GENERATION,
    name: IMAGE_GENERATION,
    requestedBy: IMAGE_GENERATION,
    description: edits
      ? 'Makes or changes an image, and shows it to the user.'
      : 'Makes an image, and shows it to the user.',
    parameters: {
      type: 'object',
      properties: edits ? { ...NEW_IMAGE, edit: EDIT } : NEW_IMAGE,
      required: ['prompt'],
      additionalProperties: false,
    },
    modelSeesImages: options.modelSeesImages,
  };

  return {
    name: IMAGE_GENERATION,
    list: () => [tool],
    async call(call, signal) {
      const { onPartialImage, onProgress } = call;
      let seconds = 0;
      // Keeps the call alive: it has a deadline of its own.
      const timer = setInterval(() => {
        seconds += PROGRESS_MS / 1000;
        onProgress?.({ progress: seconds, message: 'The image is being made.' });
      }, PROGRESS_MS);
      let partials = 0;
      try {
        const image = await server.make(imageRequest(call, { model, edits }), signal, (partial) => {
          partials += 1;
          onProgress?.({ progress: partials, message: 'An unfinished image has arrived.' });
          onPartialImage?.(partial);
        });
        return { content: IMAGE_MADE, image };
      } finally {
        clearInterval(timer);
      }
    },
    close: () => server.close(),
  };
}

const text: OptionCheck = (value) => (typeof value === 'string' && value !== '') || 'a text';

const key = asSecret((value) => isHeaderValue(value) || 'a text that an HTTP header can carry');
const headerList = asSecret(
  (value) =>
    (isRecord(value) && Object.values(value).every((each) => each === undefined || isHeaderValue(each))) ||
    'an object of texts that HTTP headers can carry',
);

const CHECKS: Readonly<Record<keyof ImageGenerationOptions, OptionCheck>> = {
  baseURL: asSecret(text),
  apiKey: key,
  headers: headerList,
  model: text,
  edits: boolean,
  imageBytes: positiveInteger,
  timeoutMs: milliseconds,
  modelSeesImages: boolean,
};

const ENDPOINT = /\/images(\/(generations|edits))?\/*$/;

/** Throws a `TypeError` for a URL of another kind, and for one with a secret or an endpoint in it. */
function parseServerURL(address: unknown): URL {
  if (typeof address !== 'string' || !URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol))
    throw new TypeError(
      `imageGeneration: baseURL must be an http(s) URL, got ${typeof address === 'string' ? 'another text' : inspect(address, { depth: 0 })}`,
    );
  const url = new URL(address);
  if (url.username || url.password)
    throw new TypeError('imageGeneration: baseURL must hold no credentials; use apiKey or headers');
  const [endpoint] = ENDPOINT.exec(url.pathname) ?? [];
  if (endpoint) throw new TypeError(`imageGeneration: baseURL must not have the endpoint '${endpoint}' in it`);
  return url;
}
