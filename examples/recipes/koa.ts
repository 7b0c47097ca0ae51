/** Middlewares for Node's requests in a Koa app, in front of a handler that is Koa's own. */
import { Readable } from 'node:stream';
import { loadHistory, memoryStore, type NodeMiddleware, type NodeRequest, recordTurn } from 'express-open-responses';
import Koa, { type Context, type Middleware } from 'koa';

const baseURL = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';

/** Resolves when the middleware calls `next`, or has answered itself. */
const inKoa =
  (middleware: NodeMiddleware): Middleware =>
  async (ctx, next) => {
    const req: NodeRequest = ctx.req;
    // Set if one of Koa's parsers has read the body.
    req.body ??= (ctx.request as { body?: unknown }).body;
    const goesOn = await new Promise<boolean>((resolve, reject) => {
      const answered = () => resolve(false);
      ctx.res.once('close', answered);
      middleware(req, ctx.res, (error) => {
        ctx.res.off('close', answered);
        if (error) reject(error);
        else resolve(true);
      });
    });
    if (goesOn) await next();
  };

async function proxy(ctx: Context): Promise<void> {
  const { body }: NodeRequest = ctx.req;
  const left = new AbortController();
  ctx.res.once('close', () => left.abort());
  const answer = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: left.signal,
  });
  ctx.status = answer.status;
  ctx.type = answer.headers.get('content-type') ?? 'text/plain';
  ctx.body = answer.body && Readable.from(answer.body);
}

const options = { store: memoryStore() };
const app = new Koa();
app.use(inKoa(recordTurn(options)));
app.use(inKoa(loadHistory(options)));
app.use(proxy);

export const server = app.listen(process.env.PORT ?? 3000);
