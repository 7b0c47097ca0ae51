/** The same stages in every framework that runs on Node's requests, each on a port of its own. */
import type { RequestListener, Server } from 'node:http';
import connect from 'connect';
import express from 'express';
import Koa from 'koa';
import { listening } from '../support/listening.ts';

/** A middleware or a handler of any of these frameworks. */
export type Stage = (req: never, res: never, next: (error?: unknown) => void) => unknown;

/** A framework, and how its apps are made of stages. */
export interface Host {
  readonly name: string;
  /** The listener of an app whose `stages` see each request in turn; what they pass to `next` goes to `failed`. */
  mount(stages: readonly Stage[], failed: (error: unknown) => void): RequestListener;
}

/** A running app. */
export interface Running {
  readonly url: string;
  readonly server: Server;
  /** What the host's own error handler was given. */
  readonly failures: readonly unknown[];
  close(): Promise<void>;
}

function expressApp(stages: readonly Stage[], failed: (error: unknown) => void): ReturnType<typeof express> {
  const app = express();
  // The casts: the frameworks' types of a request are not those of Node's alone.
  for (const stage of stages) app.use(stage as express.RequestHandler);
  const answerError: express.ErrorRequestHandler = (error, _req, res, next) => {
    failed(error);
    if (res.headersSent) return next(error);
    res.status(500).json({ host: 'failed' });
  };
  return app.use(answerError);
}

/** Express as most apps have it. */
export const parsingExpress: Host = {
  name: 'Express behind express.json()',
  mount: (stages, failed) => expressApp([express.json({ limit: '20mb' }) as Stage, ...stages], failed),
};

/** Express where nobody has read the body. */
export const bareExpress: Host = { name: 'Express without a parser', mount: expressApp };

/** Connect. */
export const connectHost: Host = {
  name: 'Connect',
  mount(stages, failed) {
    const app = connect();
    for (const stage of stages) app.use(stage as connect.NextHandleFunction);
    const answerError: connect.ErrorHandleFunction = (error, _req, res, _next) => {
      failed(error);
      res.writeHead(500, { 'content-type': 'application/json' }).end('{"host":"failed"}');
    };
    return app.use(answerError);
  },
};

/** No framework at all. */
export const nodeHost: Host = {
  name: 'bare node:http',
  mount(stages, failed) {
    return (req, res) =>
      inTurn(stages, req, res, (error) => {
        if (error) failed(error);
        res.writeHead(error ? 500 : 404, { 'content-type': 'application/json' });
        res.end(error ? '{"host":"failed"}' : '{"host":"has nothing"}');
      });
  },
};

/** Each stage calls the next one; `last` is called where none is left, and for errors. */
function inTurn(
  [stage, ...rest]: readonly Stage[],
  req: unknown,
  res: unknown,
  last: (error?: unknown) => void,
): unknown {
  if (!stage) return last();
  return stage(req as never, res as never, (error) => (error ? last(error) : inTurn(rest, req, res, last)));
}

/** Koa. */
export const koaHost: Host = {
  name: 'Koa',
  mount(stages, failed) {
    const app = new Koa().on('error', () => {});
    app.use(async (ctx, next) => {
      try {
        await next();
      } catch (error) {
        failed(error);
        ctx.status = 500;
        ctx.body = { host: 'failed' };
      }
    });
    for (const stage of stages) app.use(koaStage(stage));
    return app.callback();
  },
};

/**
 * A middleware of Node's in Koa. It gets Node's own request and response, with the body where parsers for Koa leave it.
 * Koa waits until it has called `next` or its answer is over, finds that answered then, and adds nothing.
 */
export function koaStage(stage: Stage): Koa.Middleware {
  return async function nodeStage(ctx, next) {
    const { req, res, request } = ctx as Koa.Context & {
      readonly req: { body?: unknown };
      request: { body?: unknown };
    };
    req.body ??= request.body;
    const goesOn = await new Promise<boolean>((resolve, reject) => {
      res.once('close', () => resolve(false));
      stage(req as never, res as never, (error) => (error ? reject(error) : resolve(true)));
    });
    request.body = req.body;
    if (goesOn) await next();
  };
}

/** Every host. */
export const hosts: readonly Host[] = [parsingExpress, bareExpress, connectHost, nodeHost, koaHost];

/** Starts an app on a free port of 127.0.0.1. */
export async function startHost(host: Host, stages: readonly Stage[]): Promise<Running> {
  const failures: unknown[] = [];
  return { ...(await listening(host.mount(stages, (error) => failures.push(error)))), failures };
}
