/** A server of images on a port of its own, over a model server that follows a script. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ImageGenerationOptions, imageGeneration } from 'express-open-responses/image-generation';
import type { RouterOptions } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import type { FakeAnswer } from '../../../src/testing/index.ts';
import { calls, type ToolsApp, withTools } from '../../engine/tools/support.ts';

/** A picture of one pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';

/** What the server was asked. */
export interface ImageRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** How it answers one request. */
export type ImageAnswer = (response: ServerResponse, request: ImageRequest) => void;

/** A running server. */
export interface ImagesServer {
  readonly url: string;
  readonly requests: readonly ImageRequest[];
  /** Answers the next requests with these, and all further ones with the last of them. */
  answer(...answers: readonly ImageAnswer[]): void;
  close(): Promise<void>;
}

/** Starts one that makes `PNG`. */
export async function startImages(): Promise<ImagesServer> {
  const requests: ImageRequest[] = [];
  let queue: ImageAnswer[] = [json(madeOf(PNG))];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      const asked = { method, path, headers, body: Buffer.concat(chunks).toString('latin1') };
      requests.push(asked);
      const next = queue.length > 1 ? queue.shift() : queue[0];
      next?.(response, asked);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The cast: it listens on a port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    answer: (...answers) => {
      queue = [...answers];
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** An answer of JSON, or of any other text. */
export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): ImageAnswer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** An answer of events. */
export function events(...list: readonly JsonObject[]): ImageAnswer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of list) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
}

/** The body of an answer with this image. */
export function madeOf(b64: unknown, more: JsonObject = {}): JsonObject {
  return { created: 1, data: [{ b64_json: b64 }], ...more };
}

/** A request that asks for images. */
export const ASKING: JsonObject = { tools: [{ type: 'image_generation' }] };

/** A round in which the model asks for an image of each of these. */
export function draws(...prompts: readonly string[]): FakeAnswer {
  return calls(...prompts.map((prompt, at) => [`call_${at}`, 'image_generation', JSON.stringify({ prompt })] as const));
}

/** Runs with an app that makes images, and their server. */
export async function withImages<Result>(
  run: (app: ToolsApp & { readonly images: ImagesServer }) => Promise<Result>,
  options: Partial<ImageGenerationOptions> = {},
  router: RouterOptions = {},
): Promise<Result> {
  const images = await startImages();
  const tools = imageGeneration({ baseURL: images.url, apiKey: KEY, ...options });
  try {
    return await withTools({ tools, ...router }, (app) => run({ ...app, images }));
  } finally {
    await tools.close?.();
    await images.close();
  }
}

/** The secret of the server of images. */
export const KEY = 'sk-images-0123456789';
