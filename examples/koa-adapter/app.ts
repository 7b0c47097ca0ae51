/** An ordinary Koa app with a route of its own, in which all APIs are mounted at `/v1`. */
import type { OpenResponses } from 'express-open-responses/core';
import Koa, { type Context } from 'koa';
import { koaAdapter } from './koa-adapter.ts';

/** The app, which serves the APIs. */
export function createApp(api: OpenResponses<Context>): Koa {
  const app = new Koa();
  // Koa also reports clients that leave, which need not be logged.
  app.on('error', (error, ctx) => ctx.req.socket.destroyed || app.onerror(error));
  app.use(koaAdapter(api, { basePath: '/v1' }));
  app.use((ctx) => {
    if (ctx.path === '/health') ctx.body = { status: 'ok' };
  });
  return app;
}
