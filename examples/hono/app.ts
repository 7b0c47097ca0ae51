/** An ordinary Hono app with a route of its own, in which all APIs are mounted at `/v1`. */
import type { OpenResponses } from 'express-open-responses/core';
import { Hono } from 'hono';

/** The app, which serves the APIs. */
export function createApp(api: OpenResponses<Request>): Hono {
  const app = new Hono();
  app.get('/health', (context) => context.json({ status: 'ok' }));
  app.all('/v1/*', ({ req }) => api.fetch(req.raw));
  return app;
}
