/** The OpenAI API at /v1 of Deno's server, behind the app's own authentication. */
import process from 'node:process';
import { openResponses } from 'express-open-responses/core';

const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);
const userOf = ({ headers }: Request): string | undefined => users.get(headers.get('authorization') ?? '');

const api = openResponses({ basePath: '/v1', scope: (request) => userOf(request) ?? '' });

const server = Deno.serve({ port: Number(process.env.PORT ?? 3000) }, async (request) => {
  if (!new URL(request.url).pathname.startsWith('/v1/')) return new Response('Not found', { status: 404 });
  if (userOf(request)) return api.fetch(request);
  const error = { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null };
  return Response.json({ error }, { status: 401 });
});

process.once('SIGTERM', () => api.close().then(() => server.shutdown()));
