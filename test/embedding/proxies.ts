/** Proxies that do not know this package, as companies have them, each in front of one model server. */
import type { RequestHandler } from 'express';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import OpenAI from 'openai';

/** Makes the handler of an app; `baseURL` is the model server's, such as `http://127.0.0.1:1/v1`. */
export type ProxyMaker = (baseURL: string) => RequestHandler;

/** http-proxy-middleware, set up as its README says for apps with a body parser, and so that a client who leaves ends the call. */
export const httpProxy: ProxyMaker = (baseURL) =>
  createProxyMiddleware({
    target: baseURL,
    changeOrigin: true,
    pathRewrite: (_path, req) => (isChat((req as { body?: unknown }).body) ? '/chat/completions' : '/responses'),
    on: {
      proxyReq(requested, req, res) {
        fixRequestBody(requested, req);
        // It does not notice that a client leaves before the first byte, with a body parser or without.
        res.once('close', () => res.writableFinished || requested.destroy());
      },
    },
  }) as RequestHandler;

/** A proxy of twelve lines: fetch, and every byte passed on. */
export const fetchProxy: ProxyMaker = (baseURL) =>
  catching(async function fetchProxyHandler(req, res) {
    const left = new AbortController();
    res.once('close', () => left.abort());
    const answer = await fetch(`${baseURL}${isChat(req.body) ? '/chat/completions' : '/responses'}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer company' },
      body: JSON.stringify(req.body),
      signal: left.signal,
    });
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
    for await (const bytes of answer.body ?? []) res.write(bytes);
    res.end();
  });

/** A proxy on OpenAI's own SDK, which writes every chunk anew. */
export const sdkProxy: ProxyMaker = (baseURL) => {
  const client = new OpenAI({ baseURL, apiKey: 'company', maxRetries: 0 });
  return catching(async function sdkProxyHandler(req, res) {
    const answer = isChat(req.body)
      ? await client.chat.completions.create(req.body)
      : await client.responses.create(req.body);
    if (!req.body.stream) return void res.json(answer);
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    // The cast: with `stream` the SDK answers with a stream.
    for await (const event of answer as unknown as AsyncIterable<unknown>)
      res.write(`data: ${JSON.stringify(event)}\n\n`);
    res.end('data: [DONE]\n\n');
  });
};

/** Express 4 does not see what a handler rejects with. */
function catching(handler: (...given: Parameters<RequestHandler>) => Promise<void>): RequestHandler {
  return (req, res, next) => void handler(req, res, next).catch(next);
}

function isChat(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'messages' in body;
}
