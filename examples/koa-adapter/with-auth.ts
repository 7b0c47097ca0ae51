/** The OpenAI API at /v1 of a Koa app, behind the app's own authentication. */
import { openResponses } from 'express-open-responses/core';
import Koa, { type Context } from 'koa';
import { koaAdapter } from './koa-adapter.ts';

const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);
const api = openResponses<Context>({ scope: ({ state }) => state.user });

const app = new Koa();
app.use((ctx, next) => {
  ctx.state.user = users.get(ctx.get('authorization'));
  if (ctx.state.user) return next();
  ctx.status = 401;
  ctx.body = { error: { message: 'Unknown API key.', type: 'invalid_request_error', code: null, param: null } };
});
app.use(koaAdapter(api, { basePath: '/v1' }));

const server = app.listen(process.env.PORT ?? 3000);
process.once('SIGTERM', () => void api.close({ server }));
