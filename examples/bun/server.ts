/** The OpenAI API at /v1 of Bun's server, behind the app's own authentication. */
import { openResponses } from 'express-open-responses/core';

const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);
const userOf = ({ headers }: Request): string | undefined => users.get(headers.get('authorization') ?? '');

const api = openResponses({ basePath: '/v1', scope: (request) => userOf(request) ?? '' });

const server = Bun.serve({
  port: process.env.PORT ?? 3000,
  // Bun closes connections after ten silent seconds, and models think for longer.
  idleTimeout: 0,
  routes: {
    '/v1/*': (request) => {
      if (userOf(request)) return api.fetch(request);
      const error = { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null };
      return Response.json({ error }, { status: 401 });
    },
  },
});

process.once('SIGTERM', () => api.close().then(() => server.stop()));
