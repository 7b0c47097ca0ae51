/** Middlewares for Node's requests in a Koa app, in front of a handler that is Koa's own. */
import { Readable } from 'node:stream';
import { loadHistory, memoryStore, recordTurn } from 'express-open-responses';
import Koa from 'koa';

const baseURL = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';

/** Resolves when the middleware calls `next`, or has answered itself. */
const inKoa = (middleware) => async (ctx, next) => {
  ctx.req.body ??= ctx.request.body;
  const goesOn = await new Promise((resolve, reject) => {
    const answered = () => resolve(false);
    ctx.res.once('close', answered);
    middleware(ctx.req, ctx.res, (error) => {
      ctx.res.off('close', answered);
      if (error) reject(error);
      else resolve(true);
    });
  });
  if (goesOn) await next();
};

async function proxy(ctx) {
  const left = new AbortController();
  ctx.res.once('close', () => left.abort());
  const answer = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(ctx.req.body),
    signal: left.signal,
  });
  ctx.status = answer.status;
  ctx.type = answer.headers.get('content-type');
  ctx.body = Readable.fromWeb(answer.body);
}

const options = { store: memoryStore() };
const app = new Koa();
app.use(inKoa(recordTurn(options)));
app.use(inKoa(loadHistory(options)));
app.use(proxy);

export const server = app.listen(process.env.PORT ?? 3000);
