/** An app with everything that companies put in front of an API, each piece as its own README sets it up. */

import { Writable } from 'node:stream';
import compression from 'compression';
import cors from 'cors';
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import helmet from 'helmet';
import passport from 'passport';
import pino from 'pino';
import { pinoHttp } from 'pino-http';
import { functionTools, type Hooks, type NodeRequest, type ToolProvider } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { listening } from '../support/listening.ts';

/** Who passport found. */
export interface User {
  readonly id: string;
  readonly mayLook: boolean;
}

const USERS: ReadonlyMap<string, User> = new Map([
  ['Bearer anna', { id: 'anna', mayLook: true }],
  ['Bearer berta', { id: 'berta', mayLook: false }],
]);

/** The user of a request, as every framework's middleware behind passport reads it. Throws for one that the test breaks. */
export function userOf(request: unknown): User {
  const { user, headers } = request as NodeRequest & { readonly user: User };
  if (headers['x-break'] === 'scope') throw new Error('The scope failed.');
  return user;
}

const looking = functionTools({
  look: { execute: (_args, { request, scope }) => `${userOf(request).id} looks, in the scope ${scope}.` },
});

/** The options of a host with users: a scope and tools by who asks. */
export const byUser = {
  scope: (request: NodeRequest) => userOf(request).id,
  tools(request: unknown): readonly ToolProvider[] {
    if ((request as NodeRequest).headers['x-break'] === 'tools') throw new Error('The tools failed.');
    return userOf(request).mayLook ? [looking] : [];
  },
};

/** A running app, and what its neighbours noticed. */
export interface NeighboursApp {
  readonly url: string;
  /** The lines of the host's log, one for each request. */
  readonly log: readonly string[];
  /** How often a response reported that it was finished, by request. */
  readonly finishes: ReadonlyMap<string, number>;
  /** The ids that the log knows the requests by. */
  readonly requestIds: readonly unknown[];
  /** What the host's error handler was given. */
  readonly failures: readonly string[];
  /** The codes that `hooks.onError` received. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

/** Starts the app; `mount` puts the API into it, `limit` is how many requests a minute may bring. */
export async function startNeighboursApp(
  mount: (app: Express, hooks: Hooks) => void,
  limit = 1000,
): Promise<NeighboursApp> {
  const log: string[] = [];
  const requestIds: unknown[] = [];
  const errors: string[] = [];
  const failures: string[] = [];
  const finishes = new Map<string, number>();
  const app = express();
  app.use(
    pinoHttp({ logger: pino(logInto(log, requestIds)), genReqId: (req) => req.headers['x-request-id'] ?? 'none' }),
  );
  app.use(countFinishes(finishes));
  app.use(helmet(), cors(), compression());
  app.use(session({ secret: 'test', resave: false, saveUninitialized: false }));
  app.use(passport.initialize(), authenticated());
  app.use(rateLimit({ limit, windowMs: 60_000, message: { host: 'says slow down' } }));
  app.use(express.json({ limit: '10mb' }));
  mount(app, { onError: ({ code }) => errors.push(String(code)) });
  const answerError: ErrorRequestHandler = (error, _req, res, next) => {
    failures.push(String(error?.message ?? error));
    if (res.headersSent) return next(error);
    res.status(500).json({ host: 'failed' });
  };
  app.use(answerError);
  return { ...(await listening(app)), log, requestIds, finishes, failures, errors };
}

function logInto(lines: string[], requestIds: unknown[]): Writable {
  return new Writable({
    write(line, _encoding, done) {
      const { req, res, msg } = JSON.parse(String(line)) as Record<'req' | 'res', JsonObject> & { msg: string };
      lines.push(`${req.method} ${req.url} ${res.statusCode} ${msg}`);
      requestIds.push(req.id);
      done();
    },
  });
}

function countFinishes(finishes: Map<string, number>): RequestHandler {
  return (req, res, next) => {
    const key = `${req.method} ${req.url}`;
    res.on('finish', () => finishes.set(key, (finishes.get(key) ?? 0) + 1));
    next();
  };
}

/** A strategy of the company's own. */
function authenticated(): RequestHandler {
  const strategy = {
    name: 'company',
    authenticate(this: passport.StrategyCreated<passport.Strategy>, req: Request) {
      const user = USERS.get(req.headers.authorization ?? '');
      if (user) this.success(user);
      else this.fail('Bearer', 401);
    },
  };
  return passport.authenticate(strategy as passport.Strategy, { session: false }) as RequestHandler;
}
