/** The OpenAI API as a plugin of Fastify: the app's hooks run before it, and Fastify writes the answers. */
import type { OpenResponses } from 'express-open-responses/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Serves the APIs at every path below the plugin's prefix, which is their `basePath`. */
export async function apiPlugin(app: FastifyInstance, { api }: { api: OpenResponses<Request> }): Promise<void> {
  // In this plugin alone: the APIs read bodies themselves, with limits and errors of the API.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
  app.all('/*', async (request, reply) => {
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    return api.fetch(webRequest(request, left.signal));
  });
}

function webRequest({ method, url, headers, body }: FastifyRequest, signal: AbortSignal): Request {
  const sent = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  // The cast: the parser above leaves the stream of bytes.
  return new Request(new URL(url, 'http://localhost'), {
    method,
    headers: sent,
    body: (body as AsyncIterable<Uint8Array> | undefined) ?? null,
    duplex: 'half',
    signal,
  });
}
