/** An ordinary Hono app with a route of its own, in which both APIs are mounted at `/v1`. */
import { type DrainOptions, toWebHandler, type WebHandlerOptions } from 'express-open-responses/core';
import { Hono } from 'hono';

/** The app, and how it is shut down. */
export interface HonoExample {
  readonly app: Hono;
  /** Refuses new requests and resolves when every running answer has ended. */
  drain(options?: DrainOptions): Promise<void>;
}

/** The app. One handler serves both APIs. */
export function createApp(options: WebHandlerOptions): HonoExample {
  const openai = toWebHandler({ ...options, basePath: '/v1' });
  const app = new Hono();
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.all('/v1/*', ({ req }) => openai(req.raw));
  return { app, drain: openai.drain };
}
