/** The OpenAI API at /v1 of a Hono app, behind the app's own authentication. */
import { serve } from '@hono/node-server';
import { openResponses } from 'express-open-responses/core';
import { Hono } from 'hono';

const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);
const userOf = ({ headers }: Request): string | undefined => users.get(headers.get('authorization') ?? '');

const api = openResponses({ basePath: '/v1', scope: (request) => userOf(request) ?? '' });

const app = new Hono();
app.use('/v1/*', async (context, next) => {
  if (userOf(context.req.raw)) return next();
  const error = { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null };
  return context.json({ error }, 401);
});
app.all('/v1/*', ({ req }) => api.fetch(req.raw));

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });
process.once('SIGTERM', () => void api.close({ server }));
