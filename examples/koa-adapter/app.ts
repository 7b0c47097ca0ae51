/** An ordinary Koa app with a route of its own, in which both APIs are mounted at `/v1`. */
import {
  type CoreOptions,
  createChatCompletions,
  createMessages,
  createResponses,
  type DrainOptions,
} from 'express-open-responses/core';
import Koa from 'koa';
import { type KoaAdapterOptions, koaAdapter } from './koa-adapter.ts';

/** The app, and how it is shut down. */
export interface KoaExample {
  readonly app: Koa;
  /** Refuses new requests and resolves when every running answer has ended. */
  drain(options?: DrainOptions): Promise<void>;
}

/** The app. All APIs have the same options; `scope` says whose responses a request may see. */
export function createApp(options: CoreOptions, scope?: KoaAdapterOptions['scope']): KoaExample {
  const apis = [createResponses(options), createChatCompletions(options), createMessages(options)];
  const mounted = { basePath: '/v1', ...(scope ? { scope } : {}) };
  const app = new Koa();
  // Koa also reports clients that leave, which need not be logged.
  app.on('error', (error, ctx) => ctx.req.socket.destroyed || app.onerror(error));
  for (const api of apis) app.use(koaAdapter(api, mounted));
  app.use((ctx) => {
    if (ctx.path === '/health') ctx.body = { status: 'ok' };
  });
  return { app, drain: async (drainOptions) => void (await Promise.all(apis.map((api) => api.drain(drainOptions)))) };
}
