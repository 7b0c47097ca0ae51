/** The OpenAI API at /v1 of a Fastify app, behind the app's own authentication. */
import { openResponses } from 'express-open-responses/core';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { apiPlugin } from './open-responses.ts';

const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);
const userOf = (authorization: string | null = ''): string | undefined => users.get(authorization ?? '');

async function authenticate({ headers }: FastifyRequest, reply: FastifyReply) {
  if (userOf(headers.authorization)) return;
  const error = { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null };
  return reply.code(401).send({ error });
}

const api = openResponses({
  basePath: '/v1',
  scope: ({ headers }) => userOf(headers.get('authorization')) ?? '',
});

const app = Fastify();
app.addHook('onRequest', authenticate);
app.register(apiPlugin, { prefix: '/v1', api });
await app.listen({ port: Number(process.env.PORT ?? 3000) });

process.once('SIGTERM', () => api.close({ server: app.server }).then(() => app.close()));
