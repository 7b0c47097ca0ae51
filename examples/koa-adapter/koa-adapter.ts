/** Serves the APIs in a Koa app: the reply is assigned to the context, and Koa writes it as it writes every answer. */
import { Readable } from 'node:stream';
import type { OpenResponses } from 'express-open-responses/core';
import type { Context, Middleware } from 'koa';

/** Where the APIs are. */
export interface KoaAdapterOptions {
  /** The prefix of their paths, such as `/v1`. Default: none. */
  readonly basePath?: string;
}

/** The middleware. Requests that are not for the APIs go to the next one. */
export function koaAdapter(api: OpenResponses<Context>, { basePath = '' }: KoaAdapterOptions = {}): Middleware {
  return async function apis(ctx, next) {
    if (!ctx.path.startsWith(`${basePath}/`)) return next();
    const left = new AbortController();
    ctx.res.once('close', () => left.abort());
    const answer = api.handle({
      method: ctx.method,
      path: ctx.path.slice(basePath.length),
      query: ctx.query,
      headers: ctx.headers,
      body: 'body' in ctx.request ? ctx.request.body : undefined, // as a body parser leaves it
      bytes: ctx.req,
      signal: left.signal,
      request: ctx,
      disconnect: () => ctx.res.destroy(),
    });
    if (!answer) return next();
    const { status, headers, body } = await answer;
    ctx.status = status;
    ctx.set(headers);
    ctx.body = typeof body === 'string' ? body : Readable.from(body);
  };
}
