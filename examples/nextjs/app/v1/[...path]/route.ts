/** The OpenAI API at /v1 of a Next.js app, as a route handler behind the app's own authentication. */
import { openResponses } from 'express-open-responses/core';
import { userOf } from '../../../lib/users';

const api = openResponses({ basePath: '/v1', scope: (request) => userOf(request) ?? '' });

async function handle(request: Request): Promise<Response> {
  if (userOf(request)) return api.fetch(request);
  const error = { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null };
  return Response.json({ error }, { status: 401 });
}

export { handle as DELETE, handle as GET, handle as POST };
