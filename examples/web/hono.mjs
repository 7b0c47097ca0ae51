/** Both APIs under /v1 of a Hono app; any handler from Request to Response is mounted alike. */
import { serve } from '@hono/node-server';
import { toWebHandler } from 'express-open-responses/core';
import { Hono } from 'hono';

const openai = toWebHandler({ basePath: '/v1' });

const app = new Hono();
app.all('/v1/*', ({ req }) => openai(req.raw));
serve({ fetch: app.fetch, port: 3000 });
