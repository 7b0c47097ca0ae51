/** The OpenAI API at /v1 of a Koa app, behind the app's own authentication. */
import { createChatCompletions, createResponses } from 'express-open-responses/core';
import Koa from 'koa';
import { koaAdapter } from './koa-adapter.ts';

const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);
const apis = [createResponses(), createChatCompletions()];

const app = new Koa();
app.use((ctx, next) => {
  ctx.state.user = users.get(ctx.get('authorization'));
  if (ctx.state.user) return next();
  ctx.status = 401;
  ctx.body = { error: { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null } };
});
for (const api of apis) app.use(koaAdapter(api, { basePath: '/v1', scope: ({ state }) => state.user }));

const server = app.listen(process.env.PORT ?? 3000);
process.once('SIGTERM', () => Promise.all(apis.map((api) => api.drain({ server }))).then(() => server.close()));
